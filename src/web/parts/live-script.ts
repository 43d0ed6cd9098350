// The script that refreshes an open page: it fetches the page again and changes only what differs, so that focus, open parts and the
// scroll position stay. Plain JavaScript, served unchanged.

export const liveScript = `'use strict'
const everyMs = 4000
const live = document.getElementById('live')
const connection = document.getElementById('connection')

function say(text, isWell) {
  connection.textContent = text
  connection.classList.toggle('well', isWell)
}

function isSame(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || '') === (b.id || '')
}

function morphAttributes(from, to) {
  for (const { name } of [...from.attributes])
    if (!to.hasAttribute(name) && !(name === 'open' && from.nodeName === 'DETAILS')) from.removeAttribute(name)
  for (const { name, value } of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value)
}

function morph(from, to) {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue
    return
  }
  morphAttributes(from, to)
  const wanted = [...to.childNodes]
  wanted.forEach((node, index) => {
    const present = from.childNodes[index]
    if (present === undefined) from.append(document.importNode(node, true))
    else if (isSame(present, node)) morph(present, node)
    else present.replaceWith(document.importNode(node, true))
  })
  while (from.childNodes.length > wanted.length) from.lastChild.remove()
}

async function refresh() {
  const answer = await fetch(location.pathname + location.search, { headers: { accept: 'text/html' }, cache: 'no-store', signal: AbortSignal.timeout(15000) })
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page.getElementById('live')
  if (fresh === null) throw new Error('this is not the status page')
  morph(live, fresh)
  document.title = page.title
}

async function keepTrue() {
  if (!document.hidden) {
    try {
      await refresh()
      say('', true)
    } catch {
      if (connection.textContent === '') say('No connection. This page shows the last known state and keeps trying.', false)
    }
  }
  setTimeout(keepTrue, everyMs)
}

// Where the clipboard is closed to pages (plain http to another machine), the command is marked, to be copied by hand.
function select(element) {
  const range = document.createRange()
  range.selectNodeContents(element)
  getSelection().removeAllRanges()
  getSelection().addRange(range)
}

document.documentElement.classList.add('scripted')
document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('.copy') : null
  if (button === null) return
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
    say('Copied: ' + button.dataset.copy, true)
  } catch {
    select(button.previousElementSibling)
    say('The command is selected. Copy it with the keyboard.', true)
  }
  button.classList.add('copied')
  setTimeout(() => button.classList.remove('copied'), 1500)
})

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refresh().catch(() => undefined)
})
setTimeout(keepTrue, everyMs)
`

/** A boat over its mirror image. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5c8a"/><path d="M15 4v11H8zM17 6l6 9h-6zM6 17h20l-3 4H9z" fill="#fff"/><path d="M9 23h14l-2 2H11zM12 27h8l-1 1h-6z" fill="#86bedb"/></svg>`
