// SPDX-License-Identifier: Apache-2.0
// Asks a real kube-apiserver for the same objects in both encodings and writes real-bodies.json. Run by hand, in a network
// namespace of its own:
//   KUBEBUILDER_ASSETS=FOLDER unshare --net sh -c 'ip link set lo up && node test/wrapper/wire/capture.mjs'
//   npx prettier --write test/wrapper/wire/real-bodies.json
import { Buffer } from 'node:buffer'
import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const assets = process.env.KUBEBUILDER_ASSETS
if (assets === undefined) throw new Error('KUBEBUILDER_ASSETS must name the folder of the programs')
const objects = JSON.parse(readFileSync(join(import.meta.dirname, 'objects.json'), 'utf8'))

const dir = mkdtempSync(join(tmpdir(), 'capture-'))
const children = []
const start = (name, args) => children.push(spawn(join(assets, name), args, { stdio: 'ignore' }))

/** One call; a watch is read until `enough` says so. */
const call = (method, path, { accept = 'application/json', type, body, enough } = {}) =>
  new Promise((resolve, reject) => {
    const headers = { Accept: accept, Authorization: 'Bearer admin' }
    if (body !== undefined) headers['Content-Type'] = type ?? 'application/json'
    const sent = request(
      { host: '127.0.0.1', port: 6443, method, path, headers, rejectUnauthorized: false },
      answer => {
        const parts = []
        answer.on('error', reject)
        answer.on('data', part => {
          parts.push(part)
          if (enough?.(Buffer.concat(parts)) !== true) return
          resolve({ status: answer.statusCode, bytes: Buffer.concat(parts) })
          sent.destroy()
        })
        answer.on('end', () => resolve({ status: answer.statusCode, bytes: Buffer.concat(parts) }))
      },
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const must = async (...args) => {
  const { status, bytes } = await call(...args)
  if (status >= 300) throw new Error(`${args[0]} ${args[1]}: ${status} ${bytes}`)
  return JSON.parse(bytes)
}

const both = async (name, method, path, options) => {
  const json = await call(method, path, options)
  const protobuf = await call(method, path, { ...options, accept: PROTOBUF })
  return {
    name,
    json: JSON.parse(json.bytes),
    protobuf: protobuf.bytes.toString('base64'),
  }
}

const watches = async (name, path) => {
  const json = await call('GET', path, { enough: bytes => bytes.includes('initial-events-end') })
  const protobuf = await call('GET', path, {
    accept: `${PROTOBUF};stream=watch`,
    enough: bytes => bytes.includes('initial-events-end'),
  })
  const events = json.bytes.toString().trim().split('\n')
  return {
    name,
    events: events.map(line => JSON.parse(line)),
    protobuf: protobuf.bytes.toString('base64'),
  }
}

const untilReady = async () => {
  for (let i = 0; i < 100; i++) {
    try {
      if ((await call('GET', '/readyz')).status === 200) return
    } catch {
      // Not listening yet.
    }
    await pause(300)
  }
  throw new Error('the apiserver is not ready')
}

const run = async () => {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  writeFileSync(join(dir, 'sa.key'), key.export({ type: 'sec1', format: 'pem' }))
  writeFileSync(join(dir, 'tokens.csv'), 'admin,admin,admin,system:masters\n')
  start('etcd', [`--data-dir=${dir}/etcd`, '--unsafe-no-fsync', '--log-level=error'])
  start('kube-apiserver', [
    '--etcd-servers=http://127.0.0.1:2379',
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--cert-dir=${dir}`,
    `--token-auth-file=${dir}/tokens.csv`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${dir}/sa.key`,
    `--service-account-signing-key-file=${dir}/sa.key`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
  ])
  await untilReady()
  const bodies = []
  for (const { collection, object, status, isDeleted } of objects) {
    const made = await must('POST', collection, { body: object })
    const path = `${collection}/${made.metadata.name}`
    if (status !== undefined)
      await must('PATCH', `${path}/status`, {
        type: 'application/merge-patch+json',
        body: { status },
      })
    if (isDeleted === true) await must('DELETE', path)
    bodies.push(await both(`${made.kind} ${made.metadata.name}`, 'GET', path))
  }
  bodies.push(
    await both(
      'ServiceCIDR kubernetes',
      'GET',
      '/apis/networking.k8s.io/v1/servicecidrs/kubernetes',
    ),
    await both('Service kubernetes', 'GET', '/api/v1/namespaces/default/services/kubernetes'),
    await both('Status of what is absent', 'GET', '/api/v1/nodes/nobody'),
    await both('Status of what is invalid', 'POST', '/api/v1/namespaces/default/services', {
      body: { metadata: { name: 'UPPER' }, spec: { ports: [{ port: 0 }, { port: 99999 }] } },
    }),
  )
  const lists = [
    await both('nodes', 'GET', '/api/v1/nodes'),
    await both('services', 'GET', '/api/v1/services'),
    await both('endpoints', 'GET', '/api/v1/endpoints'),
    await both('endpointslices', 'GET', '/apis/discovery.k8s.io/v1/endpointslices'),
    await both('servicecidrs', 'GET', '/apis/networking.k8s.io/v1/servicecidrs'),
    await both('an empty one', 'GET', '/api/v1/namespaces/nowhere/services'),
    await both('a first page', 'GET', '/api/v1/services?limit=1'),
  ]
  const streams = []
  const query =
    'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  for (const path of ['/api/v1/nodes', '/apis/discovery.k8s.io/v1/endpointslices'])
    streams.push(await watches(path, `${path}?${query}`))
  const version = execFileSync(join(assets, 'kube-apiserver'), ['--version']).toString().trim()
  const file = join(import.meta.dirname, 'real-bodies.json')
  writeFileSync(file, JSON.stringify({ from: version, bodies, lists, streams }, null, 2))
}

try {
  await run()
} finally {
  for (const child of children) child.kill('SIGKILL')
  await pause(200)
  rmSync(dir, { recursive: true, force: true })
}
