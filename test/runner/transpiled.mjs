// SPDX-License-Identifier: Apache-2.0
// TypeScript as JavaScript. What the compiler made of a file is kept in .cache/transpiled under the file's own path, with a
// hash of all that it was made from. `node test/runner/transpiled.mjs` makes all that is missing: tests would otherwise load
// the compiler in a process each, for the one file that no other test has.
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SOURCE_FOLDERS } from '../../folders.mjs'

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, '.cache', 'transpiled')
const require = createRequire(import.meta.url)
const config = readFileSync(join(root, 'tsconfig.json'), 'utf8')
const { version } = require('typescript/package.json')

/** Loaded at the first miss: it costs more than all else here. */
const transpile = (path, url, source) => {
  const ts = require('typescript')
  const { compilerOptions } = ts.parseConfigFileTextToJson('tsconfig.json', config).config
  const { outputText, sourceMapText } = ts.transpileModule(source, {
    fileName: path,
    compilerOptions: {
      ...ts.convertCompilerOptionsFromJson(compilerOptions, root).options,
      ...{ noEmit: false, incremental: false, tsBuildInfoFile: undefined },
      ...{ module: ts.ModuleKind.ESNext, sourceMap: true, inlineSources: true },
    },
  })
  const map = { ...JSON.parse(sourceMapText), file: path, sources: [url] }
  const code = outputText.slice(0, outputText.lastIndexOf('//# sourceMappingURL='))
  const data = Buffer.from(JSON.stringify(map)).toString('base64')
  return `${code}//# sourceMappingURL=data:application/json;charset=utf-8;base64,${data}`
}

const read = path => (existsSync(path) ? readFileSync(path, 'utf8') : '')

export const javaScriptOf = (path, url) => {
  const source = readFileSync(path, 'utf8')
  const from = [version, config, path, source]
  const hash = createHash('sha256').update(JSON.stringify(from)).digest('hex')
  const kept = join(folder, `${relative(root, path)}.js`)
  const known = read(kept)
  if (known.endsWith(`\n//${hash}`)) return known
  const made = `${transpile(path, url, source)}\n//${hash}`
  mkdirSync(dirname(kept), { recursive: true })
  // Another process may make the same: the last one's stays, whole.
  const unfinished = `${kept}.${process.pid}`
  writeFileSync(unfinished, made)
  renameSync(unfinished, kept)
  return made
}

const typeScriptFiles = () =>
  SOURCE_FOLDERS.flatMap(name =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => join(root, name, file)),
  )

if (process.argv[1] === import.meta.filename)
  for (const path of typeScriptFiles()) javaScriptOf(path, pathToFileURL(path).href)
