// SPDX-License-Identifier: Apache-2.0
// What the agent's page and its texts cost, and the pictures of it in the docs.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PAGE } from '../agent/http/page/page.js'
import { noBrowser, openBrowser, untilTrue, type Browser } from '../testkit/browser.js'
import { serveZone } from '../testkit/zone/troubled-zone.js'
import { buildBundle } from './agent/agent-process.js'
import { AS_WORLD } from './agent/world-process.js'
import { runWorld } from './agent/world/main.js'
import { measurePageCost, type PageOrder } from './page/agent-cost.js'

const HELP = `usage: npm run bench -- page [options]
  --nodes 100         of the zone around the agent
  --minutes 2         of each window in which its memory is read
  --node PATH         the Node.js to run the agent; default: the one that runs this
  --picture FOLDER    make the docs' pictures, and nothing else: npm run bench -- page --picture docs
Bytes of the page; RSS of a real agent before anybody asks and while the page is open in Debian's Chromium, where there is
one; CPU time of its answers; time to the first paint at 64 nodes.
`

const isWorld = process.argv[2] === AS_WORLD

const signed = (value: number): string => `${value < 0 ? '' : '+'}${value.toFixed(1)}`

const costs = async (order: PageOrder): Promise<void> => {
  const { rssMiB, answers, faults } = await measurePageCost(order)
  const { before, without, with: open } = rssMiB
  const version = spawnSync(order.node, ['--version'], { encoding: 'utf8' }).stdout.trim()
  process.stdout.write(
    `an agent of ${order.nodes} nodes with the image's flags, Node.js ${version}, ${order.minutes} min a window\n` +
      `RSS: ${before.toFixed(1)} MiB, then ${without.toFixed(1)} (${signed(without - before)})` +
      (open === undefined
        ? '\n'
        : `, with the page open ${open.toFixed(1)} (${signed(open - without)})\n`),
  )
  for (const { path, ms, bytes } of answers)
    process.stdout.write(
      `GET ${path.padEnd(28)} ${ms.toFixed(1).padStart(6)} ms of CPU, ${bytes} bytes\n`,
    )
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  if (faults.length > 0) process.exitCode = 1
}

const paint = async (browser: Browser): Promise<void> => {
  const { listener } = await serveZone(64)
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${listener.port}/`)
  await untilTrue(page, "document.querySelectorAll('.row').length > 0")
  const at = await page.evaluate(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  )
  process.stdout.write(`first paint at 64 nodes: ${Number(at).toFixed(0)} ms\n`)
  await page.close()
  await listener.close()
}

const SIZES = [5, 50, 500]
const VIEWS = [
  { name: '', width: 1_100, height: 760 },
  { name: '-phone', width: 375, height: 667 },
]

const takePictures = async (browser: Browser, folder: string): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  for (const size of SIZES) {
    const { listener } = await serveZone(size)
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${listener.port}/`)
    await untilTrue(page, "document.querySelectorAll('#events li').length > 0")
    for (const { name, width, height } of VIEWS)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme })
        const path = join(folder, `page-${size}${name}-${colorScheme}.png`)
        await page.screenshot({ path })
        process.stdout.write(`${path}\n`)
      }
    await page.close()
    await listener.close()
  }
}

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '2' },
    node: { type: 'string', default: process.execPath },
    picture: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
  args: isWorld ? [] : process.argv.slice(2),
})

const measureAll = async (browser: Browser | undefined): Promise<void> => {
  process.stdout.write(`the page: ${PAGE.body.length} bytes\n`)
  buildBundle()
  await costs({
    ...{ nodes: Number(values.nodes), minutes: Number(values.minutes), node: values.node },
    ...{ bench: fileURLToPath(import.meta.url), browser },
  })
  if (browser !== undefined) await paint(browser)
}

const main = async (): Promise<void> => {
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  if (noBrowser !== false) {
    process.stderr.write(`no browser: ${noBrowser}\n`)
    if (values.picture === undefined) await measureAll(undefined)
    else process.exitCode = 1
    return
  }
  const browser = await openBrowser()
  try {
    await (values.picture === undefined
      ? measureAll(browser)
      : takePictures(browser, values.picture))
  } finally {
    await browser.close()
  }
}

if (isWorld) runWorld()
else await main()
