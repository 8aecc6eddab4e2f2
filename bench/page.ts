// SPDX-License-Identifier: Apache-2.0
// What the agent's page and its texts cost, and the pictures of it in the docs.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeLocalApp } from '../agent/http/local-routes.js'
import { PAGE } from '../agent/http/page/page.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { noBrowser, openBrowser, untilTrue, type Browser } from '../testkit/browser.js'
import { openListener } from '../testkit/http/open-listener.js'
import { ask } from '../testkit/http/raw-http.js'
import { World } from '../testkit/zone/world.js'
import { serveZone } from '../testkit/zone/troubled-zone.js'

const HELP = `usage: npm run bench -- page [--picture FOLDER]
Bytes of the page; CPU time of the agent's answers in a zone of 100; time to the first paint at 64 nodes in
Debian's Chromium, where there is one. With --picture the docs' pictures are made, and nothing else: npm run bench -- page --picture docs
`

const REQUESTS = 20

/** In virtual time, of which this process's CPU counts nothing: only the requests do, those who ask included. */
const texts = async (): Promise<void> => {
  const world = new World(100)
  for (const index of [0, 1, 2]) world.boot(index)
  await world.run(30_000)
  const { views } = world.machine(0).agent!
  const app = makeLocalApp({
    ...{ views, localinfoTime: 'zero', metricsNodes: 'all', namespace: 'edge-system' },
    ...{ clock: systemClock, log: silentLog },
  })
  const listener = await openListener(app)
  const paths = ['/status?format=text', '/explain/n9?format=text', '/page/board', '/matrix', '/history'] // prettier-ignore
  for (const path of paths) {
    await ask(listener.port, path)
    const before = process.cpuUsage()
    let bytes = 0
    for (let i = 0; i < REQUESTS; i++) bytes = (await ask(listener.port, path)).text.length
    const { user, system } = process.cpuUsage(before)
    const ms = (user + system) / 1_000 / REQUESTS
    process.stdout.write(
      `GET ${path.padEnd(26)} ${ms.toFixed(1).padStart(6)} ms of CPU, ${bytes} bytes\n`,
    )
  }
  await listener.close()
  await world.stop()
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

const run = async (folder: string | undefined): Promise<void> => {
  if (folder === undefined) {
    process.stdout.write(`the page: ${PAGE.body.length} bytes\n`)
    await texts()
  }
  if (noBrowser !== false) {
    process.stderr.write(`no browser: ${noBrowser}\n`)
    process.exitCode = folder === undefined ? 0 : 1
    return
  }
  const browser = await openBrowser()
  try {
    if (folder === undefined) await paint(browser)
    else await takePictures(browser, folder)
  } finally {
    await browser.close()
  }
}

const { values } = parseArgs({
  options: { help: { type: 'boolean', short: 'h' }, picture: { type: 'string' } },
})
if (values.help === true) process.stdout.write(HELP)
else await run(values.picture)
