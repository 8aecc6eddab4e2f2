// SPDX-License-Identifier: Apache-2.0
// Leaves out of the bundle what is loaded at start but never used by edge-health. Every entry says what it saves and
// what no longer works; test/build.test.ts proves that the rest does. An entry whose text is gone from a newer version
// of its package fails the build, one that no longer meets anything is reported, so that none rots.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Types that the agent's pages, or a peer, may name. */
const MEDIA_TYPES = [
  'application/json',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'image/svg+xml',
  'multipart/form-data',
  'text/css',
  'text/event-stream',
  'text/html',
  'text/javascript',
  'text/plain',
]

const mediaTypes = importer => {
  const all = createRequire(importer)('mime-db')
  return JSON.stringify(Object.fromEntries(MEDIA_TYPES.map(type => [type, all[type]])))
}

/** Packages that are replaced whole. */
const standIns = {
  // 480 KiB of code pages. Bodies are bytes or UTF-8; another charset is answered with 415.
  'iconv-lite': () => `
    const { StringDecoder } = require('node:string_decoder')
    const isUtf8 = name => /^utf-?8$/i.test(name)
    const make = name => {
      if (!isUtf8(name)) throw new Error('Encoding not recognized: ' + name)
      return new StringDecoder('utf8')
    }
    exports.encodingExists = isUtf8
    exports.getDecoder = make
    exports.decode = (bytes, name) => { const d = make(name); return d.write(bytes) + d.end() }`,
  // 147 KiB of JSON.
  'mime-db': importer => `module.exports = ${mediaTypes(importer)}`,
  // 140 KiB with a media type table of its own. The agent sends no forms.
  'form-data': () => `module.exports = class FormData {}`,
  // It reads DEBUG, which is for developers of express, and asks the terminal for its colours.
  debug: () => `module.exports = () => Object.assign(() => {}, { enabled: false })`,
}

/** A function, or a class, that throws: something needs what was left out. */
const refuse = what => `function () { throw new Error('${what} is not part of this program') }`

/** Single modules: `[end of the importer's path, import, what it gets instead]`. */
const modules = [
  // The fetch adapter starts undici when it is loaded. Only the http adapter is used.
  [
    'axios/lib/adapters/adapters.js',
    './fetch.js',
    `export const getFetch = () => false
     export default false`,
  ],
  // Node's HTTP/2: 0.5 MiB. No request asks axios for it.
  ['axios/lib/adapters/http.js', 'http2', 'export default {}'],
  ['axios/lib/adapters/http.js', '../helpers/Http2Sessions.js', 'export default class {}'],
  // 0.5 MiB. Requests follow no redirect and use no proxy (agent/adapters/http-transport.ts).
  [
    'axios/lib/adapters/http.js',
    'follow-redirects',
    `const request = ${refuse('following redirects')}
     export default { http: { request }, https: { request } }`,
  ],
  ['axios/lib/adapters/http.js', 'https-proxy-agent', `export default ${refuse('a proxy')}`],
  // esbuild's copy of a default import reads every property, which loads what is behind them, worker threads too: 0.4 MiB.
  ...['adapters/http.js', 'helpers/formDataToStream.js'].map(path => [
    `axios/lib/${path}`,
    'util',
    `export default require('node:util')`,
  ]),
  // 1 MiB with Node's worker threads. Lines are written by a function, in the thread that logs.
  ['pino/lib/tools.js', 'worker_threads', 'exports.isMainThread = true'],
  ['pino/lib/tools.js', 'sonic-boom', 'module.exports = class SonicBoom {}'],
  ...[
    ['pino/lib/tools.js', './transport'],
    ['pino/pino.js', './lib/transport'],
  ].map(([importer, name]) => [
    importer,
    name,
    `module.exports = ${refuse('a transport of pino')}`,
  ]),
  // 0.3 MiB. Queries are read by URLSearchParams, and there are no forms.
  ...['express/lib/utils.js', 'body-parser/lib/types/urlencoded.js'].map(importer => [
    importer,
    'qs',
    `exports.parse = ${refuse('qs')}`,
  ]),
]

/** `[end of the path, [text, replacement]…]`. */
const patches = [
  // Reading this global starts undici: 6 MiB for an `instanceof` that no request needs.
  [
    'axios/lib/utils.js',
    [`typeof G.FormData !== 'undefined' ? G.FormData : undefined`, 'undefined'],
  ],
  // Reading this global loads its implementation. Nobody asks which browser Node is.
  [
    'axios/lib/platform/common/utils.js',
    [`(typeof navigator === 'object' && navigator) || undefined`, 'undefined'],
  ],
  // Intl maps 8 MiB of tables to tell the local time, which every Date knows. A named time zone still goes through it.
  [
    'node-cron/dist/_shared.js',
    [
      'const dateFormat = getPartsFormatter(timezone);',
      `const dateFormat = timezone ? getPartsFormatter(timezone) : {
        formatToParts: date => Object.entries({
          day: date.getDate(), month: date.getMonth() + 1, year: date.getFullYear(),
          hour: date.getHours(), minute: date.getMinutes(), second: date.getSeconds(),
          weekday: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getDay()],
        }).map(([type, value]) => ({ type, value })),
      };`,
    ],
    [
      'const fmt = getOffsetFormatter(timezone);',
      `const fmt = timezone ? getOffsetFormatter(timezone) : {
        formatToParts: date => {
          const ahead = -date.getTimezoneOffset();
          const minutes = String(Math.abs(ahead) % 60).padStart(2, '0');
          const hours = Math.floor(Math.abs(ahead) / 60);
          return [{ type: 'timeZoneName', value: 'GMT' + (ahead < 0 ? '-' : '+') + hours + ':' + minutes }];
        },
      };`,
    ],
  ],
]

const escape = text => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
const slashes = path => path.replaceAll('\\', '/')

/** The plugin for one build, and what it had no use for when the build is over. */
export const makeSlim = () => {
  const used = new Set()
  const all = [
    ...Object.keys(standIns),
    ...modules.map(([importer, name]) => `${importer} ${name}`),
    ...patches.map(([path]) => path),
  ]
  return { plugin: makePlugin(used), idle: () => all.filter(key => !used.has(key)) }
}

const makePlugin = used => ({
  name: 'slim',
  setup(build) {
    const namespace = 'slim'
    const contents = new Map()
    const stand = (key, text) => {
      contents.set(key, text)
      return { path: key, namespace, sideEffects: false }
    }
    for (const [name, text] of Object.entries(standIns)) {
      build.onResolve({ filter: new RegExp(`^${escape(name)}$`) }, args => {
        used.add(name)
        return stand(name, text(args.importer))
      })
    }
    for (const [importer, name, text] of modules) {
      build.onResolve({ filter: new RegExp(`^${escape(name)}$`) }, args => {
        if (!slashes(args.importer).endsWith(importer)) return undefined
        used.add(`${importer} ${name}`)
        return stand(`${importer} ${name}`, text)
      })
    }
    for (const [path, ...changes] of patches) {
      build.onLoad({ filter: new RegExp(`${escape(path)}$`) }, args => {
        let contents = readFileSync(args.path, 'utf8')
        for (const [text, replacement] of changes) {
          if (!contents.includes(text)) return { errors: [{ text: `no longer says: ${text}` }] }
          contents = contents.replace(text, () => replacement)
        }
        used.add(path)
        return { contents, loader: 'js' }
      })
    }
    build.onLoad({ filter: /.*/, namespace }, args => ({
      contents: contents.get(args.path),
      loader: 'js',
    }))
  },
})
