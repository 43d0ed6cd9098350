// Subscribes to the calendar of a boat, and prints when it is taken. While nothing changes, the answer is 304 without a body. Run it with
// the address that `boat-mirror access calendar RESOURCE_ID` prints:
//   node examples/calendar.mjs ADDRESS

const [address = '', everySeconds = '900'] = process.argv.slice(2)
let tag = ''
for (;;) {
  const answer = await fetch(address, { headers: { 'if-none-match': tag } })
  if (answer.status === 404) throw new Error('The address does not lead to a calendar, or its key was revoked.')
  if (answer.status === 200) {
    tag = answer.headers.get('etag') ?? ''
    const lines = (await answer.text()).replace(/\r\n[ \t]/g, '') // long lines are folded (RFC 5545, 3.1)
    for (const event of lines.split('BEGIN:VEVENT').slice(1)) {
      const value = (name) => new RegExp(`^${name}[^:]*:(.*)$`, 'm').exec(event)?.[1]
      console.log(value('DTSTART'), value('DTEND'), value('SUMMARY'))
    }
  }
  const seconds = Number(answer.headers.get('retry-after') ?? everySeconds)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
}
