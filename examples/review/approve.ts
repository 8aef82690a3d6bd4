/** A separate process, like a webhook provider. It completes the token by its URL. */
const [url] = process.argv.slice(2)
if (url === undefined) throw new Error('usage: approve <token url>')

const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ approved: true, by: `process ${process.pid}` }),
})
process.stdout.write(`approval: ${response.status} ${await response.text()}\n`)
process.exitCode = response.ok ? 0 : 1
