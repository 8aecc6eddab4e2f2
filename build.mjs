#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Bundles what ships: a DaemonSet pod has 100 MiB, and a thousand small modules cost more memory and start-up time than
// the code in them. docs/adr/0004-one-commonjs-file.md has the figures. In dist:
//   edge-health.cjs           the program: loads one of the next three
//   edge-health-agent.cjs     `edge-health agent`: what is not in it takes no memory of a node
//   edge-health-wrapper.cjs   `edge-health wrapper`
//   edge-health-all.cjs       everything
//   kubectl-edge_health.cjs   `edge-health cluster`, and what completes its lines
// With --entry: edge-health.cjs, of that file alone.
//   node build.mjs [--quiet] [--analyze] [--entry FILE] [--outdir FOLDER]
import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { makeSlim } from './build-slim.mjs'
import { PROGRAM_FOLDERS } from './folders.mjs'

const root = import.meta.dirname

/** Commands that run on each node have a bundle of their own, of `cli/NAME-main.ts`. */
const ON_EACH_NODE = ['agent', 'wrapper']

const { values: flags } = parseArgs({
  options: {
    quiet: { type: 'boolean', default: false },
    analyze: { type: 'boolean', default: false },
    entry: { type: 'string' },
    outdir: { type: 'string', default: 'dist' },
  },
})
// Relative to the root, with slashes: this is how the metafile names it.
const outdir = relative(root, resolve(root, flags.outdir)).replaceAll('\\', '/')
const inOutdir = name => `${outdir}/${name}.cjs`
const program = inOutdir('edge-health')
const licences = `${outdir}/THIRD_PARTY_LICENSES.txt`

const readJson = path => JSON.parse(readFileSync(path, 'utf8'))
const kib = bytes => `${(bytes / 1024).toFixed(0)} KiB`

/** Names what was built without asking git: the same sources and lockfile give the same id on every machine. */
const buildId = () => {
  const hash = createHash('sha256')
  const files = PROGRAM_FOLDERS.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => join(folder, name).replaceAll('\\', '/')),
  )
  for (const file of ['build.mjs', 'package.json', 'package-lock.json', ...files.sort()]) {
    hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex').slice(0, 12)
}

/** `a/node_modules/@x/y/z.js` → `a/node_modules/@x/y`; undefined for files of our own. */
const packageFolder = path => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]

/** What the bundle contains of others, heaviest first: `{ name, version, licence, folder, bytes }`. */
const bundledPackages = metafile => {
  const bytes = new Map()
  for (const output of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = packageFolder(path)
      if (folder === undefined) continue
      bytes.set(folder, (bytes.get(folder) ?? 0) + bytesInOutput)
    }
  }
  return [...bytes]
    .filter(([, size]) => size > 0)
    .map(([folder, size]) => {
      const { name, version, license } = readJson(join(root, folder, 'package.json'))
      return { name, version, licence: license ?? 'unknown', folder, bytes: size }
    })
    .sort((a, b) => b.bytes - a.bytes)
}

const licenceText = folder => {
  const name = readdirSync(join(root, folder)).find(file => /^(licen[cs]e|copying)/i.test(file))
  return name === undefined ? '(no licence file)' : readFileSync(join(root, folder, name), 'utf8')
}

/** One file with the licence of every package in the bundle, and the legal comments that esbuild took out of it. */
const writeLicences = packages => {
  const parts = packages
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(p => `## ${p.name} ${p.version} (${p.licence})\n\n${licenceText(p.folder).trim()}\n`)
  for (const name of readdirSync(join(root, outdir)).filter(name => name.endsWith('.LEGAL.txt'))) {
    const legal = join(root, outdir, name)
    parts.push(`## Comments kept from the sources\n\n${readFileSync(legal, 'utf8')}`)
    rmSync(legal)
  }
  writeFileSync(join(root, licences), `Packages inside edge-health.cjs\n\n${parts.join('\n')}`)
}

// `EDGE_HEALTH_VERSION` and `EDGE_HEALTH_BUILD` are names that only the bundle knows: read them behind `typeof`.
const { version } = readJson(join(root, 'package.json'))
const id = buildId()
/** Loads the part that is asked for, if it is of the same build: its first lines say so. */
const launcher = `#!/usr/bin/env node
'use strict'
const { closeSync, openSync, readSync } = require('node:fs')
const { join } = require('node:path')
const part = ${JSON.stringify(ON_EACH_NODE)}.includes(process.argv[2]) ? process.argv[2] : 'all'
const file = join(__dirname, 'edge-health-' + part + '.cjs')
const fail = why => {
  console.error('edge-health: ' + file + ' ' + why + ': install all files of one build together')
  process.exit(1)
}
const head = Buffer.alloc(128)
try {
  const opened = openSync(file)
  readSync(opened, head)
  closeSync(opened)
} catch (error) {
  fail('cannot be read (' + error.code + ')')
}
if (!head.includes('build ${id}')) fail('is not of build ${id}, as this file is')
require(file)
`
const slim = makeSlim()
const common = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20.19',
  // CommonJS: the ES module loader costs 13 MiB on Node 22 and later.
  format: 'cjs',
  // Node prints the source line of an uncaught error: keep it readable in a pod's log.
  lineLimit: 200,
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
  plugins: [slim.plugin],
  banner: {
    js: `#!/usr/bin/env node\n"use strict";/* build ${id} */const __url=require("node:url").pathToFileURL(__filename).href;`,
  },
  define: {
    'import.meta.url': '__url',
    'import.meta.dirname': '__dirname',
    'import.meta.filename': '__filename',
    EDGE_HEALTH_VERSION: JSON.stringify(version),
    EDGE_HEALTH_BUILD: JSON.stringify(id),
  },
}
/** @returns what is in the bundle: see esbuild's metafile */
const bundle = async (entry, outfile, legalComments) => {
  const options = { ...common, entryPoints: [entry], outfile, legalComments }
  const { metafile } = await build(options).catch(error => {
    // esbuild has already said what is wrong with the sources; anything else is a bug in this script.
    if (error.errors === undefined) throw error
    process.exit(1)
  })
  return metafile
}

const whole = flags.entry === undefined ? inOutdir('edge-health-all') : program
const metafile = await bundle(flags.entry ?? 'cli/main.ts', whole, 'external')
if (flags.entry === undefined) {
  // Nothing is in them that is not in the whole, so their licences are the same.
  for (const name of ON_EACH_NODE)
    await bundle(`cli/${name}-main.ts`, inOutdir(`edge-health-${name}`), 'none')
  writeFileSync(join(root, program), launcher)
}
chmodSync(join(root, program), 0o755)
// kubectl runs `kubectl-edge_health` of the PATH for `kubectl edge-health`, and the other one to complete its lines.
for (const [name, command] of [
  ['kubectl-edge_health', 'cluster'],
  ['kubectl_complete-edge_health', 'complete-cluster'],
]) {
  const plugin = join(root, outdir, `${name}.cjs`)
  const lines = [`process.argv.splice(2, 0, '${command}')`, "require('./edge-health.cjs')"]
  writeFileSync(plugin, `#!/usr/bin/env node\n'use strict'\n${lines.join('\n')}\n`)
  chmodSync(plugin, 0o755)
}
const packages = bundledPackages(metafile)
writeLicences(packages)

for (const name of slim.idle()) console.error(`build-slim.mjs: ${name} is not in the bundle`)

const size = metafile.outputs[whole].bytes
if (!flags.quiet || flags.analyze)
  console.log(`${whole}  ${kib(size)}, ${packages.length} packages`)
if (flags.analyze) {
  const others = packages.reduce((sum, p) => sum + p.bytes, 0)
  console.log(`  ${kib(size - others).padStart(9)}  own code`)
  for (const p of packages.slice(0, 10)) {
    console.log(`  ${kib(p.bytes).padStart(9)}  ${p.name} ${p.version}`)
  }
}
