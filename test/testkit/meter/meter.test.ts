// SPDX-License-Identifier: Apache-2.0
// Real traffic of known sizes in a network of its own, beside what the kernel counted on the same interface.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { makeCertificate } from '../../../sandbox/kubelet-server.js'
import { buildMeter, cutPackets, Meter } from '../../../testkit/meter/meter.js'
import type { Inside, Reading } from '../../../testkit/meter/meter.js'
import { sumOf } from '../../../testkit/meter/traffic.js'
import { Namespace } from '../../lab/network.js'

const PORT = 8_443
const SENT = 300_000

/** A server and a client of it; each request of `SENT` bytes is answered with as many. */
const SCENE = `
import { createServer, request, Agent } from '__MODULE__'
const server = createServer(__TLS__, (asked, answer) => {
  asked.resume().on('end', () => answer.end(Buffer.alloc(${SENT})))
})
await new Promise(resolve => server.listen(${PORT}, '127.0.0.1', resolve))
const agent = new Agent({ keepAlive: true })
for (let i = 0; i < 3; i++)
  await new Promise((resolve, reject) => {
    const asked = request({ port: ${PORT}, host: '127.0.0.1', method: 'POST', agent, rejectUnauthorized: false })
    asked.on('error', reject).on('response', answer => answer.resume().on('end', resolve))
    asked.end(Buffer.alloc(${SENT}))
  })
agent.destroy()
server.close()
`

/** Bytes and packets that the kernel counted as received; over loopback without the header of Ethernet. */
const kernelCount = (text: string): { readonly bytes: number; readonly packets: number } => {
  const [bytes = 0, packets = 0] = /lo: *(.*)/.exec(text)![1]!.split(/\s+/).map(Number)
  return { bytes, packets }
}

const isRoot = process.getuid?.() === 0
const canBuild = ['go version', 'ip -V'].every(line => spawnSync('sh', ['-c', line]).status === 0)
const skip = isRoot && canBuild ? false : 'needs root, Go and iproute2'

const measure = async (
  module: 'node:http' | 'node:https',
): Promise<{ readonly reading: Reading; readonly kernel: ReturnType<typeof kernelCount> }> => {
  const space = await Namespace.open()
  try {
    const inside: Inside = (program, args) => space.inside(program, args)
    cutPackets('lo', inside)
    const sides = {
      isOurs: ({ port }: { readonly port: number }) => port !== PORT,
      endOf: () => 'server',
    }
    const meter = await Meter.open(buildMeter(process.env), 'lo', sides, inside)
    const tls = module === 'node:http' ? {} : await makeCertificate('server', '127.0.0.1')
    const text = SCENE.replace('__MODULE__', module).replace('__TLS__', JSON.stringify(tls))
    await space.run(process.execPath, ['--input-type=module', '-e', text])
    const reading = await meter.close()
    const kernel = kernelCount(await space.run('cat', ['/proc/net/dev']))
    return { reading, kernel }
  } finally {
    space.close()
  }
}

for (const module of ['node:http', 'node:https'] as const)
  t.test(`${module}: what is counted is what the kernel counted`, { skip }, async t => {
    const { reading, kernel } = await measure(module)
    t.same(reading.faults, [])
    t.same(sumOf(reading.entries), kernel)
    const requests = sumOf(reading.entries, { kind: 'request', direction: 'sent' })
    const answers = sumOf(reading.entries, { kind: 'answer', direction: 'received' })
    for (const [name, sum] of Object.entries({ requests, answers })) {
      const inFull = Math.ceil((3 * SENT) / 1_448)
      t.ok(sum.packets >= inFull, `${name} fill at least ${inFull} packets, got ${sum.packets}`)
      const least = 3 * SENT + 52 * sum.packets
      t.ok(
        sum.bytes >= least,
        `${name} have bodies and packet headers, ${least} B, got ${sum.bytes}`,
      )
      t.ok(sum.bytes < 1.05 * least, `${name} have little beside them, got ${sum.bytes} B`)
    }
    const handshakes = sumOf(reading.entries, { kind: 'handshake' })
    t.ok(handshakes.packets >= 5, `one connection opens and closes, got ${handshakes.packets}`)
    t.equal(
      handshakes.bytes > 1_500,
      module === 'node:https',
      `${handshakes.bytes} B of handshakes`,
    )
    t.equal(sumOf(reading.entries, { kind: 'watch' }).packets, 0)
  })

t.test('an interface that is not there is an error that names it', { skip }, async t => {
  const sides = { isOurs: () => true, endOf: () => undefined }
  await t.rejects(Meter.open(buildMeter(process.env), 'nothing0', sides), {
    message: /the meter does not run: meter: interface nothing0/,
  })
})

t.test('the program has no dependency: it builds without a network', async t => {
  t.notMatch(readFileSync('testkit/meter/go.mod', 'utf8'), /require/)
})
