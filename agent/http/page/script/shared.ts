// SPDX-License-Identifier: Apache-2.0

/** What the parts of the page share: elements, texts and lists whose elements stay with their keys. */
export const SHARED = `
'use strict'
const $=id=>document.getElementById(id)
const NS=$('line').namespaceURI
const make=(tag,text,cls)=>{const e=document.createElement(tag);if(text!==undefined)e.textContent=text;if(cls)e.className=cls;return e}
const setText=(e,text)=>{if(e.textContent!==text)e.textContent=text}
const clockText=at=>new Date(at).toLocaleTimeString([],{hour12:false})
const ageText=s=>s<120?Math.round(s)+' s':s<7200?Math.round(s/60)+' min':Math.round(s/3600)+' h'

// Elements stay with their keys, so that nobody loses the focus when something changes.
const sync=(list,items,keyOf,create,update)=>{
 const had=list.made||(list.made=new Map()),active=document.activeElement,now=new Map()
 let at=list.firstChild
 for(const item of items){
  const key=keyOf(item)
  let e=had.get(key)
  if(!e){e=create(item)}
  update(e,item)
  now.set(key,e)
  if(e===at)at=at.nextSibling
  else list.insertBefore(e,at)
 }
 for(const[key,e]of had)if(!now.has(key))e.remove()
 list.made=now
 if(active&&active!==document.activeElement&&document.contains(active))active.focus()
}
`
