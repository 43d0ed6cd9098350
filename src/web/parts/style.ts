// The style sheet of the pages: light and dark, wide and narrow, from one set of colours. Contrast of text is at least
// 4.5 to 1 on its ground, of marks in plots 3 to 1.

export const styleSheet = `:root{color-scheme:light dark;
--ground:#f5f7f8;--card:#fff;--line:#d9e0e4;--text:#14212b;--note:#52636f;--link:#0b5c8a;--focus:#0b5c8a;
--ok:#1a7a4c;--warn:#9a5b00;--bad:#b3261e;--busy:#0b5c8a;--mute:#6b7a84;
--ok-soft:#e3f4ea;--warn-soft:#fdf0d9;--bad-soft:#fce8e6;--busy-soft:#e2f0f8;--mute-soft:#e9eef1;
--series:#2f7fb0;--soft:#b5d3e6;
--h0:#e4ecf0;--h1:#bcdcec;--h2:#86bedb;--h3:#4b99c2;--h4:#21719d;--h5:#0a4569;--none:#f1f4f5}
@media (prefers-color-scheme:dark){:root{
--ground:#0e161c;--card:#16212a;--line:#2b3a45;--text:#e6edf1;--note:#a3b3bd;--link:#7cc4ee;--focus:#7cc4ee;
--ok:#5ed39a;--warn:#f0b95a;--bad:#ff8f86;--busy:#7cc4ee;--mute:#94a5b0;
--ok-soft:#12352a;--warn-soft:#3a2c10;--bad-soft:#431f1e;--busy-soft:#12303f;--mute-soft:#22303a;
--series:#4a9fd0;--soft:#2b5874;
--h0:#22303a;--h1:#1d4a63;--h2:#22698d;--h3:#3389b4;--h4:#65b1d7;--h5:#b9e1f5;--none:#1a252d}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
header,main{max-width:1220px;margin:0 auto;padding:0 20px}
main:focus{outline:none}
header{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:4px 24px;padding-top:16px}
.brand{margin:0;font-weight:650;letter-spacing:.01em}
nav{display:flex;flex-wrap:wrap;align-items:center;gap:4px 18px}
[aria-current]{color:inherit;text-decoration:none;font-weight:650}
a{color:var(--link);text-underline-offset:3px}
a:focus-visible,button:focus-visible,summary:focus-visible,input:focus-visible,.wide:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999px}
.skip:focus{left:12px;top:8px;background:var(--card);padding:6px 12px;z-index:1}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
h1{margin:0;font-size:28px;line-height:1.2;font-weight:650}
h1[role=status]{font-size:22px;line-height:1.35}
h1 code{font-size:.8em}
h2{margin:0 0 6px;font-size:17px;font-weight:650}
p{margin:0}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 20px;margin:14px 0}
.summary{border-left:8px solid var(--mute)}
.summary.ok{border-left-color:var(--ok)}
.summary.warn{border-left-color:var(--warn)}
.summary.bad{border-left-color:var(--bad)}
.summary.busy{border-left-color:var(--busy)}
.summary>p{margin-top:4px;color:var(--note);font-variant-numeric:tabular-nums}
.places{display:flex;flex-wrap:wrap;gap:4px 32px;margin:14px 0 0}
.places div{display:flex;gap:8px;min-width:0}
.places dt{color:var(--note)}
.places dd{margin:0;overflow-wrap:anywhere}
.note,.quiet{color:var(--note);font-size:14px;font-variant-numeric:tabular-nums}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--mute-soft);border-radius:5px;padding:2px 7px;overflow-wrap:anywhere}
ul{margin:0;padding:0;list-style:none}
.attention li{border-left:4px solid var(--warn);background:var(--warn-soft);border-radius:0 8px 8px 0;padding:10px 14px;margin-top:8px}
.attention li.bad{border-left-color:var(--bad);background:var(--bad-soft)}
.attention p{overflow-wrap:anywhere}
.commands{margin-top:6px;display:flex;flex-wrap:wrap;gap:6px}
.attention code{background:var(--card)}
.commands{align-items:center}
.command{display:inline-flex;align-items:center;gap:2px;min-width:0}
.copy{display:none;padding:4px 6px;border-color:transparent;line-height:0}
.scripted .copy{display:inline-block}
.copy .line{fill:none;stroke:currentColor;stroke-width:1.4}
.copy.copied{border-color:var(--ok);color:var(--ok)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:10px 24px;margin:14px 0 0}
.facts div{min-width:0}
.facts dt{color:var(--note);font-size:13px}
.facts dd{margin:0;overflow-wrap:anywhere}
td{overflow-wrap:anywhere}
.whole{white-space:nowrap}
.below{display:block}
.now{min-height:190px}
.running li{display:grid;grid-template-columns:minmax(150px,240px) minmax(80px,200px) 1fr;gap:4px 14px;align-items:center;padding:3px 0}
.running li.note{display:block}
.running .name,.running .note{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.running .name{font-weight:550}
.streams tbody th a,.running .name{color:inherit;text-decoration-color:var(--line)}
progress{width:100%;height:10px;accent-color:var(--busy)}
.wide{overflow-x:auto}
.wide+.note,nav+.wide{margin-top:16px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
table.narrow{width:auto;min-width:220px}
th,td{text-align:left;padding:5px 14px 5px 0;border-top:1px solid var(--line);vertical-align:middle;font-weight:400}
thead th{color:var(--note);font-size:13px;border-top:0;white-space:nowrap}
tbody th{font-weight:550}
.streams{table-layout:fixed;min-width:1134px}
.streams thead th:nth-child(2){width:94px}
.streams thead th:nth-child(3){width:88px}
.streams thead th:nth-child(4){width:209px}
.streams thead th:nth-child(5){width:220px}
.streams thead th:nth-child(6){width:200px}
.streams thead th:nth-child(7){width:80px}
.streams tbody th{overflow-wrap:anywhere}
.streams .number{white-space:nowrap}
.streams :is(th,td):last-child{padding-right:0}
.number{text-align:right}
td.number+td,th.number+th{padding-left:8px}
.state{display:inline-block;border-radius:20px;padding:0 10px;font-size:13px;line-height:21px;white-space:nowrap;color:var(--mute);background:var(--mute-soft)}
.state.mute{color:var(--note)}
.state.busy{color:var(--busy);background:var(--busy-soft)}
.state.ok{color:var(--ok);background:var(--ok-soft)}
.state.warn{color:var(--warn);background:var(--warn-soft)}
.state.bad{color:var(--bad);background:var(--bad-soft)}
.badge{font-size:13px;color:var(--warn);white-space:nowrap}
.sparks{display:inline-flex;gap:14px;vertical-align:middle}
svg{display:block}
svg text{fill:var(--note);font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
.spark{background:linear-gradient(var(--line),var(--line)) bottom/100% 1px no-repeat}
rect.ok,rect.series{fill:var(--series)}
rect.warn{fill:var(--warn)}
rect.bad{fill:var(--bad)}
rect.mute{fill:var(--mute)}
rect.soft{fill:var(--soft)}
rect.hit{fill:transparent}
g:hover>rect.hit{fill:var(--mute-soft)}
.plot{width:100%;height:auto;max-width:520px}
.grid{stroke:var(--line);stroke-dasharray:3 3}
.axis{stroke:var(--mute)}
.heat{width:100%;height:auto;min-width:620px;max-width:900px}
.heat-0{fill:var(--h0)}.heat-1{fill:var(--h1)}.heat-2{fill:var(--h2)}.heat-3{fill:var(--h3)}.heat-4{fill:var(--h4)}.heat-5{fill:var(--h5)}.heat-none{fill:var(--none);stroke:var(--line)}
.heat .today{stroke:var(--text);stroke-width:2}
.strip{width:100%;height:auto;max-width:900px;margin-top:10px}
.ends{display:flex;justify-content:space-between;max-width:900px;margin-top:2px}
.legend{white-space:nowrap}
.legend svg{display:inline-block;vertical-align:-2px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(290px,1fr));gap:18px 28px;margin-top:8px}
figure{margin:0;min-width:0}
figcaption{min-height:44px;margin-bottom:4px}
details{margin-top:14px}
summary{cursor:pointer;color:var(--link)}
details[open] summary{margin-bottom:8px}
.updated,#connection{color:var(--note);font-size:13px;padding:2px 2px 8px;min-height:28px}
#connection{color:var(--bad)}
#connection.well{color:var(--note)}
button{font:inherit;color:var(--link);background:none;border:1px solid var(--line);border-radius:7px;padding:3px 12px;cursor:pointer}
.action{display:inline-block;border:1px solid var(--link);border-radius:7px;padding:6px 14px;margin:6px 8px 0 0;text-decoration:none}
.action:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
.decide label{display:block;margin:12px 0 4px}
.decide input{width:100%;max-width:420px;font:inherit;color:inherit;background:var(--ground);border:1px solid var(--mute);border-radius:7px;padding:9px 12px}
.decide button{margin:8px 14px 0 0;padding:8px 18px;border-color:var(--link)}
.decide .wrong{color:var(--bad);min-height:24px;margin-top:8px}
@media (max-width:720px){
header,main{padding:0 12px}
header{padding-top:12px}
section{padding:14px}
h1{font-size:23px}h1[role=status]{font-size:18px}
.places{flex-direction:column}
.now{min-height:206px}
.running li{grid-template-columns:1fr 100px}
.running li>.note:last-child{display:none}
.wide table,.wide tbody{display:block;min-width:0}
.wide thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.wide tr{display:flex;flex-wrap:wrap;align-items:center;gap:2px 14px;border-top:1px solid var(--line);padding:8px 0}
.wide td,.wide tbody th{display:block;width:auto;border:0;padding:0;text-align:left;font-size:14px;white-space:normal}
.wide td.number+td{padding-left:0}
.wide tbody th{flex:1 1 62%;font-size:15px;overflow-wrap:anywhere}
.wide td::before{content:attr(data-label) " ";color:var(--note)}
.wide td[data-label="State"]::before,.wide td[data-label="Last runs"]::before,.wide td[data-label="Last run"]::before,.wide td[data-label="Last status"]::before{content:none}
td .plain,.wide td:empty{display:none}
}
@media (prefers-reduced-motion:no-preference){.state{transition:color .2s}}
@media (forced-colors:active){.state,.attention li{border:1px solid}}
@media print{nav,#connection{display:none}section{break-inside:avoid}}
`
