// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { SCRIPT } from './script.js'
import { STYLE } from './style.js'

const sourceOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const BODY = `<header><h1 id="headline" data-colour="grey">edge-health</h1><ul id="facts"></ul>
<p id="stale" role="alert" hidden></p></header>
<main><div id="find"><label for="filter">Filter</label><input id="filter" type="search" autocomplete="off" placeholder="name, class or reason ( / )"><span id="found" role="status"></span></div>
<section aria-label="Nodes"><ul id="rows"></ul>
<details id="well-box" hidden><summary id="well-count"></summary><ul id="well"></ul></details></section>
<section aria-labelledby="h-line"><h2 id="h-line">The last hour</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Time line"><svg id="line" role="img" aria-label="Time line" viewBox="0 0 720 40"></svg></div>
<p id="events-none"></p><ol id="events"></ol><button id="more" class="plain" type="button" hidden></button></section>
<details id="matrix-box"><summary>Who says what about whom</summary><p id="matrix-note"></p><p id="cell" role="status"></p>
<div id="grid-box" class="scroll" tabindex="0" role="region" aria-label="Votes, by voter and node"><table id="grid"><thead><tr></tr></thead><tbody><tr></tr></tbody><tbody></tbody></table></div></details></main>
<footer id="foot"></footer>
<dialog id="drawer" aria-labelledby="drawer-name"><header><h2 id="drawer-name"></h2><button id="shut" class="plain" type="button">Close</button></header>
<pre id="why" tabindex="0" aria-label="Why it is judged so"></pre><div id="recipes"></div></dialog>
<noscript>This page needs scripts; /status?format=text has the same as text.</noscript>`

/**
 * A page for people that shows the zone live. Self-contained: it may load nothing and talk to nobody else. Its icon, drawn
 * by its script, is the one image that it may show.
 */
export const PAGE = {
  policy: `default-src 'none'; connect-src 'self'; img-src data:; script-src ${sourceOf(SCRIPT)}; style-src ${sourceOf(STYLE)}; frame-ancestors 'none'`,
  body: Buffer.from(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>edge-health</title><link id="icon" rel="icon"><style>${STYLE}</style></head>
<body>${BODY}
<script>${SCRIPT}</script></body></html>
`),
}
