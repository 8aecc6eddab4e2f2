// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { Script } from 'node:vm'
import t, { type Test } from 'tap'
import { PAGE } from '../../../agent/http/page/page.js'
import {
  accessibilityFaults,
  noBrowser,
  openBrowser,
  untilTrue,
  type Browser,
  type BrowserPage,
} from '../../../testkit/browser.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { ask } from '../../../testkit/http/raw-http.js'
import { share } from '../../../testkit/share.js'
import { nodeFixture } from '../../../testkit/zone/status-fixture.js'
import { serveZone } from '../../../testkit/zone/troubled-zone.js'

t.test('the page is whole in itself, and small', async t => {
  const { listener } = await serveZone(5)
  t.teardown(() => listener.close())
  const { headers, text } = await ask(listener.port, '/')
  t.match(headers['content-type'], /text\/html/)
  t.ok(PAGE.body.length <= 40_000, `${PAGE.body.length} bytes`)
  t.match(text, /name="viewport"/)
  t.notMatch(text, /(src|href)=|https?:|innerHTML|eval\(/, 'no foreign asset, no markup from data')
  const between = (tag: string) => new RegExp(`<${tag}>(.*)</${tag}>`, 's').exec(text)![1]!
  t.doesNotThrow(() => new Script(between('script')), 'it is a script')
  const hashOf = (part: string) => createHash('sha256').update(part).digest('base64')
  t.equal(
    headers['content-security-policy'],
    `default-src 'none'; connect-src 'self'; img-src data:; script-src 'sha256-${hashOf(between('script'))}'; ` +
      `style-src 'sha256-${hashOf(between('style'))}'; frame-ancestors 'none'`,
  )
})

t.test('what the page asks for', async t => {
  const { views, listener } = await serveZone(5)
  t.teardown(() => listener.close())
  const json = async (path: string): Promise<unknown> =>
    JSON.parse((await ask(listener.port, path)).text)
  t.match(await json('/page/board'), {
    headline: '2 dead · 1 cut · 2 healthy',
    lastEntry: 7,
    rows: [{ name: 'node-5' }, { name: 'node-4' }, { name: 'node-3' }, { name: 'node-2' }],
    healthy: ['node-1'],
  })
  t.match(await json('/page/node/node-5'), {
    text: /^node-5 \(10\.0\.0\.5\) is dead/,
    recipes: [{ where: 'anywhere', line: 'kubectl describe node node-5' }],
  })
  t.strictSame(await json('/matrix'), views.votes)
  t.equal((await ask(listener.port, '/page/node/nobody')).status, 404)
  t.equal((await ask(listener.port, '/page/node/%zz')).status, 400)
})

t.test('in a real browser', { skip: noBrowser }, async t => {
  const browser: Browser = await openBrowser()
  t.teardown(() => browser.close())

  /** A page that shows a zone of so many nodes; whatever it complains of fails the test. */
  const open = async (t: Test, size: number, width = 1_200, height = 800) => {
    const zone = await serveZone(size)
    const page = await browser.newPage()
    t.teardown(async () => {
      await page.close()
      await zone.listener.close()
    })
    const complaints: unknown[] = []
    page.on('pageerror', error => complaints.push(error))
    await page.setViewportSize({ width, height })
    const url = `http://127.0.0.1:${zone.listener.port}/`
    await page.goto(url)
    await untilTrue(page, "document.querySelectorAll('#events li').length === 7")
    return { ...zone, page, url, complaints }
  }
  const text = async (page: BrowserPage, selector: string): Promise<unknown> =>
    page.evaluate(`document.querySelector('${selector}').textContent`)
  const headline = (page: BrowserPage) => text(page, '#headline')

  const screens = [
    [50, 375, 667],
    [5, 1_200, 800],
    [50, 1_200, 800],
    [500, 1_200, 800],
    [500, 375, 667],
  ] as const
  for (const [size, width, height] of share(t, screens, 2, 'screens'))
    await t.test(
      `${size} nodes on ${width} × ${height}: who is dead is above the fold`,
      async t => {
        const { page, complaints } = await open(t, size, width, height)
        const said = `2 dead · 1 cut · ${size - 3} healthy`
        t.equal(await headline(page), said)
        t.equal(await page.evaluate('document.title'), `${said} – shop-17`)
        const icon = await page.evaluate("document.querySelector('#icon').getAttribute('href')")
        t.match(decodeURIComponent(String(icon)), /fill="#d32f2f".*>2<\/text>/, 'the icon says two')
        t.match(
          await text(page, '.row'),
          new RegExp(`node-${size}.*dead`),
          'who died last is first',
        )
        for (const row of [1, 2]) {
          const rect = `document.querySelector('#rows li:nth-child(${row})').getBoundingClientRect()`
          t.ok(Number(await page.evaluate(`${rect}.bottom`)) <= height, `dead node ${row}`)
        }
        t.equal(
          await page.evaluate('document.body.scrollWidth > innerWidth'),
          false,
          'nothing beside',
        )
        t.strictSame(complaints, [])
      },
    )

  await t.test('the keyboard alone is enough', async t => {
    const { page, complaints } = await open(t, 50)
    const focused = 'document.activeElement'
    for (let tabs = 0; tabs < 4; tabs++) {
      if ((await page.evaluate(`${focused}.className`)) === 'row') break
      await page.keyboard.press('Tab')
    }
    t.match(await page.evaluate(`${focused}.textContent`), /^node-50dead/)
    await page.keyboard.press('Enter')
    await untilTrue(page, "document.querySelectorAll('.recipe').length > 8")
    t.match(await text(page, '#why'), /^node-50 \(10\.0\.0\.50\) is dead: a majority of its peers/)
    t.match(await text(page, '#recipes'), /ssh -- 10\.0\.0\.50/)
    t.equal(await page.evaluate(`document.querySelector('#drawer').contains(${focused})`), true)
    await page.keyboard.press('Escape')
    t.equal(await page.evaluate("document.querySelector('#drawer').open"), false)
    t.match(await page.evaluate(`${focused}.textContent`), /^node-50dead/, 'back where it was')
    await page.keyboard.press('/')
    for (const key of ['c', 'u', 't']) await page.keyboard.press(key)
    await untilTrue(page, "document.querySelectorAll('.row').length === 1")
    t.match(await text(page, '.row'), /^node-48cut/)
    t.equal(await text(page, '#found'), '1 of 50 nodes')
    await page.focus('#matrix-box summary')
    await page.keyboard.press('Enter')
    await untilTrue(page, "document.querySelectorAll('#grid td').length > 2500")
    await page.focus('#grid-box')
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
    t.equal(await text(page, '#cell'), 'node-02 says down about node-49, 1 s ago')
    t.strictSame(complaints, [])
  })

  await t.test('what follows at once on closing the drawer counts', async t => {
    const { page, complaints } = await open(t, 50)
    const drawer = "document.querySelector('#drawer')"
    const slash = "document.dispatchEvent(new KeyboardEvent('keydown', { key: '/' }))"
    // In one go: the browser tells of the closing only afterwards.
    await page.click('.row')
    await page.evaluate(`${drawer}.close(); ${slash}`)
    t.equal(await page.evaluate('document.activeElement.id'), 'filter')
    await page.click('.row')
    await page.evaluate(
      `${drawer}.close(); document.querySelector('#rows li:nth-child(2) button').click()`,
    )
    await untilTrue(page, "document.querySelectorAll('.recipe').length > 8")
    t.match(await text(page, '#why'), /^node-49 /)
    t.strictSame(complaints, [])
  })

  await t.test('a node that is opened while another is asked about is shown', async t => {
    const { page, complaints } = await open(t, 50)
    // The first answer about a node is late, and no board comes that would have it asked for again.
    await page.evaluate(`
      const ask = window.fetch
      let release
      const late = new Promise(resolve => { release = resolve })
      let asked = 0
      source.close()
      window.EventSource = class { addEventListener() {} close() {} }
      window.fetch = async (path, ...more) => {
        const answer = await ask(path, ...more)
        if (path.startsWith('page/node/') && asked++ === 0) await late
        return answer
      }
      window.releaseFirst = () => release()
    `)
    await page.click('.row')
    await page.evaluate(
      "document.querySelector('#drawer').close(); document.querySelector('#rows li:nth-child(2) button').click()",
    )
    await page.evaluate('window.releaseFirst()')
    await untilTrue(page, "document.querySelectorAll('.recipe').length > 8")
    t.match(await text(page, '#why'), /^node-49 /)
    t.strictSame(complaints, [])
  })

  await t.test('axe finds nothing, in light and dark, with everything open', async t => {
    const { page } = await open(t, 10)
    await page.click('#matrix-box summary')
    await untilTrue(page, "document.querySelectorAll('#grid td').length > 100")
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.strictSame(await accessibilityFaults(page), [], colorScheme)
      await page.click('.row')
      await untilTrue(page, "document.querySelectorAll('.recipe').length > 8")
      t.strictSame(await accessibilityFaults(page), [], `${colorScheme}, a node's drawer`)
      await page.keyboard.press('Escape')
    }
  })

  const widths = [
    [5, 1_200],
    [500, 1_200],
    [50, 375],
  ] as const
  for (const [size, width] of share(t, widths, 1, 'screens'))
    await t.test(`axe finds nothing at ${size} nodes, ${width} px wide`, async t => {
      const { page } = await open(t, size, width)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        t.strictSame(await accessibilityFaults(page), [], colorScheme)
      }
    })

  await t.test('it follows the zone, and nobody loses the focus', async t => {
    const { page, views } = await open(t, 5)
    await page.focus('#rows li:nth-child(2) button')
    const name = views.view.nodes[4]!.name
    views.view = { ...views.view, nodes: [...views.view.nodes.slice(0, 4), nodeFixture(5)] }
    views.happened({
      ...{ id: 8, at: new Date().toISOString(), kind: 'class', nodes: [name], count: 1 },
      ...{ from: 'dead', to: 'healthy', text: `${name} is healthy, was dead` },
    })
    await untilTrue(page, "document.querySelectorAll('#events li').length === 8")
    t.equal(await headline(page), '1 dead · 1 cut · 3 healthy')
    t.match(await text(page, '#events li'), /node-5 is healthy, was dead/)
    t.match(
      await page.evaluate("document.querySelector('#line').getAttribute('aria-label')"),
      /node-5 healthy, then dead, then healthy/,
    )
    t.match(await page.evaluate('document.activeElement.textContent'), /^node-4dead/)
    views.view = { ...views.view, nodes: [...views.view.nodes.slice(0, 2), ...[3, 4, 5].map(n => nodeFixture(n))] } // prettier-ignore
    views.changed()
    await untilTrue(page, "document.querySelector('#headline').textContent === '5 healthy'")
    t.equal(await page.evaluate("document.querySelectorAll('.row').length"), 1)
  })

  await t.test('the agent goes: the page says so at once, and keeps what it knew', async t => {
    const { page, listener } = await open(t, 5)
    t.equal(await page.evaluate("document.querySelector('#stale').hidden"), true)
    await listener.close()
    await untilTrue(page, "document.querySelector('#stale').hidden === false")
    t.match(
      await text(page, '#stale'),
      /^The agent has not answered for \d+ s\. What you see is as of/,
    )
    t.match(await page.evaluate('document.title'), /^\d+ s old: 2 dead/)
    t.equal(await headline(page), '2 dead · 1 cut · 2 healthy')
    const icon = await page.evaluate("document.querySelector('#icon').getAttribute('href')")
    t.match(decodeURIComponent(String(icon)), />\?<\/text>/)
  })

  await t.test('a connection that only looks alive is noticed too', async t => {
    const clock = new FakeClock()
    const { views, listener } = await serveZone(5, clock)
    const page = await browser.newPage()
    t.teardown(async () => {
      await page.close()
      await listener.close()
    })
    await page.clock.install()
    await page.goto(`http://127.0.0.1:${listener.port}/`)
    await untilTrue(page, "document.querySelectorAll('#events li').length === 7")
    await page.clock.fastForward(13_000)
    await untilTrue(page, "document.querySelector('#stale').hidden === false")
    views.changed()
    await clock.advance(250)
    await untilTrue(page, "document.querySelector('#stale').hidden")
    t.equal(await page.evaluate('document.title'), '2 dead · 1 cut · 2 healthy – shop-17')
  })
})
