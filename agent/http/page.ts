// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'

const STYLE = `
:root{color-scheme:light dark;--bad:#c62828;--warn:#b26a00;--good:#2e7d32;--line:#8884}
@media(prefers-color-scheme:dark){:root{--bad:#ff8a80;--warn:#ffcc80;--good:#a5d6a7}}
body{font:16px/1.4 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem}
h1{font-size:1.25rem;margin:0 0 .25rem}p{margin:.25rem 0}
ul{list-style:none;padding:0}li{border-top:1px solid var(--line);padding:.5rem 0}
b{display:inline-block;min-width:8rem;overflow-wrap:anywhere}
.bad{color:var(--bad)}.warn{color:var(--warn)}.good{color:var(--good)}
small{display:block;opacity:.8}`

// Everything that comes from the agent goes in as text, never as markup.
const SCRIPT = `
const $=id=>document.getElementById(id)
const line=(tag,text,cls)=>{const e=document.createElement(tag);e.textContent=text;if(cls)e.className=cls;return e}
const ago=s=>s===null?'never':s<120?Math.round(s)+' s':Math.round(s/60)+' min'
const colour={healthy:'good',undecided:'warn','cloud-link-cut':'warn','zone-link-cut':'warn',dead:'bad','kubelet-sick':'bad'}
const show=s=>{
 $('zone').textContent='Zone '+(s.zone.name||'(whole cluster)')+': '+s.zone.members+' nodes'
 const notes=[]
 notes.push(['seen from '+s.self.name+', cloud link '+s.cloudLink.state,s.cloudLink.state==='cut'?'warn':''])
 if(s.roster.source!=='api')notes.push(['roster from '+s.roster.source,'warn'])
 if(s.brake.isOn)notes.push(['the brake holds: '+s.brake.unhealthy+' nodes look dead, '+s.brake.limit+' may be condemned','bad'])
 if(s.selfSuspect)notes.push(['this node suspects itself','bad'])
 if(s.keys.state==='missing')notes.push(['no key ring','bad'])
 $('notes').replaceChildren(...notes.map(n=>line('p',n[0],n[1])))
 $('nodes').replaceChildren(...s.nodes.map(n=>{
  const li=document.createElement('li')
  li.append(line('b',n.name+(n.isSelf?' (here)':'')),line('span',n.class,colour[n.class]),line('span',n.local==='up'?'':' · not reachable from here','bad'))
  const facts=[...(n.pending?['on its way to '+n.pending]:[]),n.votes.down+' down, '+n.votes.up+' up, '+n.votes.needed+' needed','record '+ago(n.recordAgeSeconds)]
  if(n.probe&&n.probe.vote!=='up')facts.push('own probes '+(n.probe.vote==='down'?'say down: ':'say nothing: ')+n.probe.reason)
  if(n.vouch.state==='active')facts.push('vouched for by '+n.vouch.by)
  for(const g of n.guards)facts.push(g.text)
  li.append(line('small',facts.join(' · ')));return li}))
 $('state').textContent='live, '+new Date(s.at).toLocaleTimeString()
}
const stream=new EventSource('status?stream=1')
stream.addEventListener('status',e=>show(JSON.parse(e.data)))
stream.onerror=()=>{$('state').textContent='the agent does not answer, trying again'}`

const sourceOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** A page for people that shows the zone live. Self-contained: it may load nothing and talk to nobody else. */
export const PAGE = {
  policy: `default-src 'none'; connect-src 'self'; script-src ${sourceOf(SCRIPT)}; style-src ${sourceOf(STYLE)}; frame-ancestors 'none'`,
  body: Buffer.from(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>edge-health</title><style>${STYLE}</style></head>
<body><h1 id="zone">edge-health</h1><div id="notes"></div><ul id="nodes"></ul><p id="state">connecting</p>
<noscript>This page needs scripts; /status has the same as JSON.</noscript>
<script>${SCRIPT}</script></body></html>
`),
}
