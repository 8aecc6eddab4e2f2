// SPDX-License-Identifier: Apache-2.0
import { connect } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { InvalidInputError } from '../../core/errors.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { resolveWrapperOptions } from '../../wrapper/options/resolve.js'
import { refuseOwnAddress } from '../../wrapper/own-address.js'
import { makeProgram } from '../../wrapper/program.js'
import type { WrapperStatusView } from '../../wrapper/status/status-view.js'
import { isSo, startUpstream } from './wrapper-bed.js'

t.test('an address is the wrapper’s own by host and port', t => {
  const bound = (host: string, port = 51_006) => ({
    ...{ bindAddress: { host, port }, statusAddress: { host: '127.0.0.1', port: 51_007 } },
  })
  const rows: [server: string, host: string, port: number, isOwn: boolean][] = [
    ['http://127.0.0.1:51006', '127.0.0.1', 51_006, true],
    ['https://127.0.0.1:51006/', '127.0.0.1', 51_006, true],
    ['http://LocalHost:51006', '127.0.0.1', 51_006, true],
    ['http://localhost:51006', '::1', 51_006, true],
    ['http://[0:0::1]:51006', '::1', 51_006, true],
    ['http://[::ffff:127.0.0.1]:51006', '127.0.0.1', 51_006, true],
    ['https://10.0.0.1', '10.0.0.1', 443, true],
    ['http://10.0.0.1', '10.0.0.1', 80, true],
    ['https://127.0.0.1:51006', '0.0.0.0', 51_006, true],
    ['https://localhost:51006', '::', 51_006, true],
    ['http://127.0.0.1:51007', '127.0.0.1', 51_006, true],
    ['https://127.0.0.1:51003', '127.0.0.1', 51_006, false],
    ['https://127.0.0.2:51006', '127.0.0.1', 51_006, false],
    ['https://localhost:51006', '127.0.0.2', 51_006, false],
    ['https://10.0.0.1', '10.0.0.1', 80, false],
    ['https://10.0.0.1:51006', '0.0.0.0', 51_006, false],
    ['https://apiserver.example:51006', '127.0.0.1', 51_006, false],
  ]
  for (const [server, host, port, isOwn] of rows) {
    const check = (): void => refuseOwnAddress(new URL(server), bound(host, port))
    if (isOwn) t.throws(check, { code: 'INVALID_INPUT' }, `${server} ${host}`)
    else t.doesNotThrow(check, `${server} ${host}`)
  }
  t.throws(() => refuseOwnAddress(new URL('http://[::1]:51006'), bound('::1')), {
    message:
      'the apiserver\'s address must not be the wrapper\'s own --bind-address [::1]:51006, got "http://[::1]:51006"',
  })
  t.end()
})

const HOST = '127.34.1.1'

const isOpen = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({ host: HOST, port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    ...{ users: [{ name: 'u', user: {} }], 'current-context': 'x' },
  })

const startProgram = async (t: Test, folder: string, more: Readonly<Record<string, string>>) => {
  const flags = {
    ...{ 'node-name': 'a', 'state-dir': join(folder, 'state') },
    ...{ 'bind-address': `${HOST}:51006`, 'status-address': `${HOST}:51007`, ...more },
  }
  const given = Object.entries(flags).map(([name, text]) => ({ name, text }))
  const { options } = resolveWrapperOptions({ flags: given, env: {} })
  const seams = { clock: new FakeClock(), random: seededRandom(1), log: recordingLog() }
  const wrapper = makeProgram(options, { ...seams, version: 'test', environment: {} })
  t.teardown(() => wrapper.stop())
  await wrapper.start()
  return seams
}

t.test('a wrapper whose apiserver is itself does not start', async t => {
  const folder = t.testdir({ kubeconfig: kubeconfigOf(`http://${HOST}:51006`) })
  const rows: [flags: Readonly<Record<string, string>>, names: readonly string[]][] = [
    [{ kubeconfig: join(folder, 'kubeconfig') }, ['--bind-address', `${HOST}:51006`]],
    [{ 'master-url': `http://${HOST}:51006` }, ['--bind-address', `${HOST}:51006`]],
    [{ 'master-url': `http://${HOST}:51007` }, ['--status-address', `${HOST}:51007`]],
  ]
  for (const [flags, names] of rows) {
    const error = await startProgram(t, folder, flags).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    t.type(error, InvalidInputError)
    for (const name of [...names, "the apiserver's address"])
      t.ok((error as Error).message.includes(name), name)
    for (const port of [51_006, 51_007]) t.notOk(await isOpen(port), 'nothing listens')
  }
})

t.test('a kubeconfig that comes to name the wrapper changes nothing', async t => {
  const { api } = await startUpstream(t)
  const folder = t.testdir({ kubeconfig: kubeconfigOf(api.url) })
  const kubeconfig = join(folder, 'kubeconfig')
  const { clock, log } = await startProgram(t, folder, { kubeconfig })
  const asked = async (path: string): Promise<number> => {
    const { status, body } = await fetch(`http://${HOST}:51006${path}`)
    await body?.cancel()
    return status
  }
  const status = async (): Promise<WrapperStatusView> =>
    (await fetch(`http://${HOST}:51007/status`)).json() as Promise<WrapperStatusView>
  await isSo(async () => (await status()).resources.filter(({ lists }) => lists > 0).length >= 3)
  t.equal((await status()).apiserverTrouble, null)

  writeFileSync(kubeconfig, kubeconfigOf(`http://${HOST}:51006`))
  const trouble = `kubeconfig ${kubeconfig}: the apiserver's address must not be the wrapper's own --bind-address ${HOST}:51006, got "http://${HOST}:51006"`
  for (const path of ['/api/v1/pods', '/api/v1/endpoints', '/api/v1/pods']) {
    await clock.advance(11_000)
    t.equal(await asked(path), 200, `${path} is the apiserver's still`)
  }
  t.equal((await status()).apiserverTrouble, trouble)
  await isSo(async () => {
    const { resources } = await status()
    return resources.some(one => one.resource === 'endpoints' && !one.isStale && one.lists === 1)
  })
  t.pass('and so are the wrapper’s own lists')
  const said = (): unknown[] =>
    log.lines
      .filter(({ message }) => message.startsWith('the kubeconfig'))
      .map(({ level, fields }) => [level, fields['error']])
  t.strictSame(said(), [['error', trouble]], 'it is said once')

  writeFileSync(kubeconfig, kubeconfigOf(`${api.url}/`))
  await clock.advance(11_000)
  t.equal(await asked('/api/v1/pods'), 200)
  t.equal((await status()).apiserverTrouble, null)
  t.strictSame(said(), [['error', trouble], ['info', undefined]]) // prettier-ignore
})
