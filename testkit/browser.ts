// SPDX-License-Identifier: Apache-2.0
// A real Chromium for tests of the page: Debian's, driven by playwright-core, which downloads none.
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** As much of playwright's pages as our tests use. */
export interface BrowserPage {
  goto(url: string): Promise<unknown>
  /** Runs JavaScript in the page; gives what it comes to. */
  evaluate(script: string): Promise<unknown>
  click(selector: string): Promise<void>
  fill(selector: string, text: string): Promise<void>
  focus(selector: string): Promise<void>
  setViewportSize(size: { width: number; height: number }): Promise<void>
  emulateMedia(media: { colorScheme: 'light' | 'dark' }): Promise<void>
  screenshot(options: { path: string }): Promise<unknown>
  on(event: 'pageerror' | 'console', hear: (news: unknown) => void): void
  readonly keyboard: { press(key: string): Promise<void> }
  readonly clock: { install(): Promise<void>; fastForward(ms: number): Promise<void> }
  close(): Promise<void>
}

export interface Browser {
  /** A page of its own: no cookie, no cache, no other page's size. */
  newPage(): Promise<BrowserPage>
  close(): Promise<void>
}

interface Playwright {
  readonly default: {
    readonly chromium: {
      launch(options: { executablePath: string; args: readonly string[] }): Promise<Browser>
    }
  }
}

const isThere = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map(folder => join(folder, 'chromium'))
  .find(isThere)

const resolve = (name: string): string | undefined => {
  try {
    return import.meta.resolve(name)
  } catch {
    return undefined
  }
}
const driver = resolve('playwright-core')
const axe = resolve('axe-core')

/** Why tests of the page are skipped here; false when they can run. */
export const noBrowser: string | false =
  program === undefined
    ? 'no chromium here: "apt-get install chromium" gets it'
    : driver === undefined || axe === undefined
      ? 'playwright-core or axe-core is not installed: "npm ci" gets them'
      : false

/** Root has no user namespaces to shut a browser in; ours sees a page of our own alone, and asks nobody else for anything. */
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]

/** Starts one; `noBrowser` must be false. */
export const openBrowser = async (): Promise<Browser> => {
  const playwright = (await import(driver!)) as Playwright
  return playwright.default.chromium.launch({ executablePath: program!, args: ARGUMENTS })
}

/** Waits until an expression is true in the page. The page's own rules forbid what playwright would do for it. */
export const untilTrue = async (page: BrowserPage, expression: string): Promise<void> => {
  for (let tries = 0; tries < 400; tries++) {
    if ((await page.evaluate(expression)) === true) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error(`the page never came to this: ${expression}`)
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly impact: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** What axe finds wrong with the page as it is, one line each. */
export const accessibilityFaults = async (page: BrowserPage): Promise<readonly string[]> => {
  await page.evaluate(readFileSync(fileURLToPath(axe!), 'utf8'))
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.map(
    ({ id, impact, nodes }) =>
      `${id} (${impact}): ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
  )
}
