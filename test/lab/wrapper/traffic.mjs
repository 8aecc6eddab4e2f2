// SPDX-License-Identifier: Apache-2.0
// One node's part in the traffic: a small shop that says its own name, and a customer that opens a new connection to
// the Service again and again. It says `open` once the shop is, and then one line per connection: `BEGUN TOOK NAME`, or
// `BEGUN TOOK !REASON`, in ms of the machine's monotonic clock, which all processes share.
import { createServer, connect } from 'node:net'
import { clearTimeout, setInterval, setTimeout } from 'node:timers'

const [name, shop, service, everyMs, limitMs] = process.argv.slice(2)

const place = text => {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) }
}

createServer(socket => socket.on('error', () => undefined).end(name)).listen(place(shop), () =>
  process.stdout.write('open\n'),
)

const now = () => Number(process.hrtime.bigint()) / 1e6

const buy = () => {
  const begun = now()
  let said = ''
  let isOver = false
  const socket = connect(place(service))
  const end = result => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    socket.destroy()
    process.stdout.write(`${begun.toFixed(1)} ${(now() - begun).toFixed(1)} ${result}\n`)
  }
  const timer = setTimeout(() => end('!timeout'), Number(limitMs))
  socket.setEncoding('utf8').on('data', text => (said += text))
  socket.on('error', error => end(`!${error.code}`))
  socket.on('close', () => end(said === '' ? '!empty' : said))
}
if (service !== '-') setInterval(buy, Number(everyMs))
// It ends with whoever reads it.
process.stdout.on('error', () => process.exit(1))
