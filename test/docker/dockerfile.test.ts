// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findTool } from '../../testkit/find-tool.js'
import { freePort } from '../../testkit/free-port.js'
import { AGENT_FLAGS, IMAGE_ENV, IMAGE_FLAGS } from '../../sandbox/image.js'
import { buildBundle, cleanEnvironment, shippedFlags, shippedMalloc } from '../../testkit/bundle.js'
import { readManifests } from '../../testkit/deploy/manifests.js'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Instruction {
  readonly name: string
  readonly text: string
}

/** Comments out, continued lines joined, one list for each stage. */
const stages = read('docker/Dockerfile')
  .replace(/^\s*#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter(line => line.trim() !== '')
  .map((line): Instruction => {
    const [, name = '', text = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    return { name, text: text.trim() }
  })
  .reduce<Instruction[][]>(
    (list, instruction) => {
      if (instruction.name === 'FROM') list.push([])
      list.at(-1)!.push(instruction)
      return list
    },
    [[]],
  )
const [head, build, runtime, image] = stages
const texts = (stage: readonly Instruction[] | undefined, name: string) =>
  (stage ?? []).filter(instruction => instruction.name === name).map(({ text }) => text)
const all = stages.flat()

t.test('every instruction is one', t => {
  t.equal(stages.length, 4, 'arguments and three stages')
  for (const { name } of all) t.match(name, /^(ARG|FROM|WORKDIR|COPY|RUN|USER|ENV|LABEL|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)$/) // prettier-ignore
  t.notOk(all.some(({ name }) => name === 'ADD'), 'nothing is fetched by ADD') // prettier-ignore
  t.notOk(all.some(({ text }) => /https?:\/\/(?!127\.0\.0\.1)|curl|wget|apt-get/.test(text)), 'nothing is downloaded beside packages') // prettier-ignore
  t.end()
})

t.test('the Node that runs is the Node that built', t => {
  t.strictSame(texts(head, 'ARG'), ['NODE_TAG=24-slim'])
  t.strictSame(texts(build, 'FROM'), ['--platform=$BUILDPLATFORM node:${NODE_TAG} AS build'])
  t.strictSame(texts(runtime, 'FROM'), ['node:${NODE_TAG} AS runtime'])
  t.strictSame(texts(image, 'FROM'), ['scratch'])
  t.end()
})

t.test('what is copied exists and reaches the builder', t => {
  const sources = [build, runtime]
    .flatMap(stage => texts(stage, 'COPY'))
    .filter(text => !text.startsWith('--from='))
    .flatMap(text => text.split(/\s+/).slice(0, -1))
    .map(source => source.replace(/\/$/, ''))
  const ignore = read('.dockerignore').split('\n')
  for (const source of sources) {
    // The folder of the sandbox and of the command line come with their first file.
    t.ok(existsSync(join(root, source)) || ['sandbox', 'cli'].includes(source), `${source} exists`)
    t.ok(ignore.includes(`!${source}`), `${source} is not ignored`)
  }
  t.ok(ignore.includes('*'), 'all else is')
  t.end()
})

t.test('every folder that the build reads is copied', async t => {
  const folders = (await import(new URL('../../folders.mjs', import.meta.url).href)) as {
    readonly PROGRAM_FOLDERS: readonly string[]
  }
  const copied = texts(build, 'COPY').flatMap(text => text.split(/\s+/).slice(0, -1))
  for (const folder of folders.PROGRAM_FOLDERS) t.ok(copied.includes(`${folder}/`), folder)
})

t.test('the image runs one file as nobody', t => {
  t.strictSame(texts(image, 'USER'), ['65532:65532'])
  t.strictSame(texts(runtime, 'USER'), ['65532:65532'], 'compiled by the uid that runs it')
  t.strictSame(texts(image, 'HEALTHCHECK'), ['NONE'])
  const [program, ...rest] = JSON.parse(texts(image, 'ENTRYPOINT')[0]!) as string[]
  const flags = rest.slice(0, -1)
  t.equal(program, 'node')
  t.equal(rest.at(-1), '/app/edge-health.cjs')
  const warmUp = texts(runtime, 'RUN').at(-1)!
  t.match(warmUp, `node ${flags.join(' ')} /app/edge-health.cjs agent`, 'compiled with its flags')
  t.match(warmUp, 'NODE_COMPILE_CACHE=/app/cache')
  t.match(warmUp, 'timeout --foreground ', 'one signal: a second one ends it with 143')
  t.match(texts(image, 'ENV')[0], 'NODE_COMPILE_CACHE=/app/cache')
  for (const name of ['npm', 'npx', 'yarn', 'corepack']) {
    t.match(texts(runtime, 'RUN')[0], `/usr/local/bin/${name}`, `${name} is taken out`)
  }
  t.end()
})

t.test('the warm-up starts an agent, which ends well', async t => {
  const app = dirname(buildBundle(t))
  const [command = ''] = texts(runtime, 'RUN').at(-1)!.split('&& rm -rf')
  // The ports of a node may be in use where the tests run.
  const port = await freePort()
  const loaded = join(app, 'loaded.cjs')
  writeFileSync(loaded, `process.on('exit', () => console.error('loaded: ' + process.moduleLoadList.join(', ')))`) // prettier-ignore
  const here = command
    .replaceAll('/app/', `${app}/`)
    .replaceAll('/tmp/warm-up', join(app, 'state'))
    .replace('node --', `'${process.execPath}' --`)
  const { status, stderr } = spawnSync(
    '/bin/sh',
    ['-c', `${here} --port=${port} --local-port=${port}`],
    { encoding: 'utf8', env: cleanEnvironment({ WARM_UP_SECONDS: '3', NODE_OPTIONS: `--require=${loaded}` }) }, // prettier-ignore
  )
  t.equal(status, 0, 'exit code', { stderr: stderr.slice(0, 3000) })
  t.match(stderr, '"msg":"running"')
  t.match(stderr, '"msg":"stopping"')
  const parts = /loaded: (.*)/.exec(stderr)?.[1]?.split(', ') ?? []
  t.ok(parts.includes('NativeModule http'))
  const spared = [
    'http2',
    'worker_threads',
    'readline',
    'perf_hooks',
    'internal/deps/undici/undici',
  ]
  t.strictSame(spared.filter(name => parts.includes(`NativeModule ${name}`)), [], 'memory of its own') // prettier-ignore
})

t.test('image and manifests agree', t => {
  const text = JSON.stringify(readManifests(join(root, 'deploy', 'base')))
  const { version } = JSON.parse(read('package.json')) as { version: string }
  t.match(text, `"image":"edge-health:${version}"`)
  t.match(text, '"runAsUser":65532')
  t.end()
})

const hadolint = findTool('hadolint')
t.test('hadolint has nothing to say', { skip: hadolint.missing }, t => {
  const { status, stdout } = spawnSync(hadolint.path, ['--no-color', 'docker/Dockerfile'], {
    ...{ cwd: root, encoding: 'utf8' },
  })
  t.equal(stdout, '')
  t.equal(status, 0)
  t.end()
})

t.test("the demo's agents run with the same flags as the image's", t => {
  t.strictSame(IMAGE_FLAGS, shippedFlags())
  t.strictSame(IMAGE_ENV, shippedMalloc())
  t.end()
})

t.test('this Node.js takes the flags for it, and says nothing about them', async t => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...AGENT_FLAGS, '-p', '1'], {
    encoding: 'utf8',
  })
  t.strictSame({ status, stdout, stderr }, { status: 0, stdout: '1\n', stderr: '' })
})

t.test('the image has no flag that its Node.js 24 refuses', async t => {
  // Node.js 20 and 22 know it.
  t.notOk(shippedFlags().includes('--no-expose-wasm'))
})
