// SPDX-License-Identifier: Apache-2.0
// Loads TypeScript as JavaScript: `./x.js` is `./x.ts` where that exists. Loaders of tap's that a file has no use
// for are loaded as nothing: each asks another thread about every import.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { javaScriptOf } from './transpiled.mjs'

const root = join(import.meta.dirname, '..', '..')
const require = createRequire(import.meta.url)
const ownText = readFileSync(import.meta.filename, 'utf8')

/** The compiler's and the mocks', and the recorder of coverage where none is demanded. */
let unused = ['typescript', 'mock']

/** Tap in one file: 300 modules, each asked for through this thread, are most of what a small test costs. */
const bundleOfTap = () => {
  const from = [readFileSync(join(root, 'package-lock.json'), 'utf8'), ownText]
  const hash = createHash('sha256').update(JSON.stringify(from)).digest('hex')
  // Below a folder of this name, so that tap leaves it out of stack traces.
  const kept = join(root, '.cache', 'node_modules', '@tapjs', `${hash}.mjs`)
  if (existsSync(kept)) return kept
  mkdirSync(dirname(kept), { recursive: true })
  const unfinished = `${kept}.${process.pid}`
  require('esbuild').buildSync({
    stdin: { contents: `export * from 'tap'; export { default } from 'tap'`, resolveDir: root },
    outfile: unfinished,
    ...{ bundle: true, platform: 'node', format: 'esm', keepNames: true, logLevel: 'error' },
    banner: {
      js: `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url)`,
    },
  })
  renameSync(unfinished, kept)
  return kept
}

/** Several test files share this process. */
let isTogether = false

export const initialize = data => {
  if (!data.isCovered) unused = [...unused, 'processinfo']
  isTogether = data.isTogether
}

const tapOfFile = file =>
  new URL(`./tap-of-file.mjs?${encodeURIComponent(file)}`, import.meta.url).href

const isUnused = url =>
  unused.some(name => url.endsWith(`/node_modules/@tapjs/${name}/dist/esm/import.mjs`))

export const resolve = (specifier, context, next) => {
  const parent = context.parentURL ?? ''
  if (specifier === 'tap') {
    const { href } = pathToFileURL(bundleOfTap())
    const url = isTogether && parent.endsWith('.test.ts') ? tapOfFile(parent) : href
    return { url, format: 'module', shortCircuit: true }
  }
  if (
    !/^\.{1,2}\/.*\.js$/.test(specifier) ||
    !parent.startsWith('file:') ||
    parent.includes('/node_modules/')
  )
    return next(specifier, context)
  const url = new URL(`${specifier.slice(0, -2)}ts`, parent)
  return next(existsSync(fileURLToPath(url)) ? url.href : specifier, context)
}

export const load = async (url, context, next) => {
  if (isUnused(url)) return { format: 'module', shortCircuit: true, source: '' }
  const { protocol, pathname } = new URL(url)
  if (protocol !== 'file:' || !pathname.endsWith('.ts') || pathname.includes('/node_modules/'))
    return next(url, context)
  const path = fileURLToPath(new URL(pathname, 'file:'))
  return { format: 'module', shortCircuit: true, source: await javaScriptOf(path, url) }
}
