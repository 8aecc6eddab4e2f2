// SPDX-License-Identifier: Apache-2.0

/** One node, and what starts the page. */
export const DRAWER = `
// One node
const WHERE={anywhere:'With kubectl',neighbour:'From this node',itself:'On the node itself'}
const copy=async(line,button)=>{
 const say=text=>{setText(button,text);setTimeout(()=>setText(button,'Copy'),2000)}
 try{await navigator.clipboard.writeText(line);say('Copied')}
 catch{getSelection().selectAllChildren(button.previousSibling);say('Selected')}
}
const makeRecipe=r=>{
 const li=make('li',undefined,'recipe'),b=make('button','Copy','plain')
 b.type='button'
 b.setAttribute('aria-label','Copy: '+r.line)
 b.addEventListener('click',()=>copy(r.line,b))
 li.append(make('span',r.shows),make('code',r.line),b);return li
}
const loadNode=once(async()=>{
 const name=openName
 if(name===null)return
 const r=await fetch('page/node/'+encodeURIComponent(name),{cache:'no-store'})
 if(name!==openName)return
 if(!r.ok){setText($('why'),await r.text());return}
 const node=await r.json()
 setText($('why'),node.text)
 const box=$('recipes')
 if(box.dataset.of===name)return
 box.dataset.of=name
 box.replaceChildren(...Object.keys(WHERE).flatMap(where=>{
  const ul=make('ul')
  ul.append(...node.recipes.filter(x=>x.where===where).map(makeRecipe))
  return[make('h3',WHERE[where]),ul]
 }))
})
const openDrawer=name=>{
 openName=name
 setText($('drawer-name'),name);setText($('why'),'asking the agent');$('recipes').replaceChildren();delete $('recipes').dataset.of
 $('drawer').showModal()
 loadNode()
}
// The event comes some time after the drawer was closed: another node may be shown by then.
$('drawer').addEventListener('close',()=>{if(!$('drawer').open)openName=null})
$('shut').addEventListener('click',()=>$('drawer').close())
$('filter').addEventListener('input',()=>{if(board)showNodes()})
$('more').addEventListener('click',()=>{allShown=!allShown;showHistory()})
document.addEventListener('keydown',e=>{if(e.key==='/'&&!$('drawer').open&&document.activeElement!==$('filter')){e.preventDefault();$('filter').focus()}})
connect()
showTitle(0)
setInterval(showAge,1000)`
