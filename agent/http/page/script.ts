// SPDX-License-Identifier: Apache-2.0

/**
 * What runs in the browser: it shows, and decides nothing but how old what it shows is. Everything that comes from the
 * agent goes in as text, never as markup. No backslash and no backquote may stand in it.
 */
export const SCRIPT = `
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

let board=null,heardAt=-1,boardAt=0,lost=false,openName=null
const serverNow=()=>boardAt+performance.now()-heardAt

// How old is what is shown
const LATE_MS=12000,RETRY_MS=20000
let source=null,openedAt=0
const heard=()=>{heardAt=performance.now();lost=false}
const connect=()=>{
 if(source)source.close()
 openedAt=performance.now()
 source=new EventSource('page/board?stream=1')
 source.addEventListener('status',e=>{heard();board=JSON.parse(e.data);boardAt=Date.parse(board.at);showBoard()})
 source.onerror=()=>{lost=true;showAge()}
}
const showAge=()=>{
 const silent=performance.now()-heardAt
 const isStale=board?lost||silent>LATE_MS:performance.now()-openedAt>LATE_MS||lost
 $('stale').hidden=!isStale
 if(isStale)setText($('stale'),board?'The agent has not answered for '+ageText(silent/1000)+'. What you see is as of '+clockText(boardAt)+' and may be wrong.':'The agent does not answer; trying again.')
 showTitle(isStale?silent:0)
 if(isStale&&performance.now()-openedAt>RETRY_MS||source.readyState===2&&performance.now()-openedAt>3000)connect()
}
let iconNow=''
const showTitle=staleMs=>{
 const head=board?board.headline+(board.zone?' – '+board.zone:''):'edge-health'
 const title=staleMs>0?(board?ageText(staleMs/1000)+' old: ':'no answer: ')+head:head
 if(document.title!==title)document.title=title
 const colours={red:'#d32f2f',yellow:'#f9a825',green:'#2e7d32'}
 const bad=board?board.rows.filter(r=>r.colour==='red').length:0
 const sign=staleMs>0||!board?'?':bad>99?'99':bad>0?String(bad):''
 const colour=staleMs>0||!board?'#757575':colours[board.colour]
 const icon='data:image/svg+xml,'+encodeURIComponent('<svg xmlns="'+NS+'" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" fill="'+colour+'"/><text x="16" y="23" font-family="sans-serif" font-size="20" font-weight="bold" text-anchor="middle" fill="#fff">'+sign+'</text></svg>')
 if(icon!==iconNow){iconNow=icon;$('icon').setAttribute('href',icon)}
}

// Nodes
const opener=name=>{const b=make('button');b.type='button';b.addEventListener('click',()=>openDrawer(name));return b}
const makeRow=r=>{
 const li=make('li'),b=opener(r.name)
 b.className='row'
 b.append(make('span'),make('b'),make('em'),make('span','','why'))
 li.append(b);return li
}
const updateRow=(li,r)=>{
 const b=li.firstChild,[name,standing,age,why]=b.children
 b.dataset.colour=r.colour
 setText(name,r.name+(r.name===board.self?' (here)':''));setText(standing,r.standing);setText(age,r.age);setText(why,r.reason)
}
const makeChip=name=>{const li=make('li'),b=opener(name);b.className='chip';li.append(b);return li}
const showNodes=()=>{
 const wanted=$('filter').value.trim().toLowerCase()
 const fits=text=>text.toLowerCase().includes(wanted)
 const rows=board.rows.filter(r=>fits(r.name+' '+r.standing+' '+r.reason))
 const well=board.healthy.filter(n=>fits(n+' healthy'))
 sync($('rows'),rows,r=>r.name,makeRow,updateRow)
 sync($('well'),well,n=>n,makeChip,(li,n)=>setText(li.firstChild,n+(n===board.self?' (here)':'')))
 setText($('well-count'),well.length+' healthy')
 $('well-box').hidden=well.length===0
 setText($('found'),wanted===''?'':rows.length+well.length+' of '+(board.rows.length+board.healthy.length)+' nodes')
}
const showBoard=()=>{
 const h=$('headline')
 setText(h,board.headline);h.dataset.colour=board.colour
 sync($('facts'),board.facts,f=>f.text,()=>make('li'),(li,f)=>{li.dataset.colour=f.colour;setText(li,f.text)})
 if(!showBoard.done){showBoard.done=true;$('well-box').open=board.healthy.length<=60}
 showNodes();showAge()
 setText($('foot'),'Zone '+(board.zone||'(whole cluster)')+', as '+board.self+' sees it at '+clockText(boardAt)+'; edge-health '+board.version)
 if(board.lastEntry!==lastId())loadHistory()
 else showHistory()
 if($('matrix-box').open)loadMatrix()
 if(openName!==null)loadNode()
}

// The last hour
let entries=[],allShown=false
const lastId=()=>entries.length?entries[entries.length-1].id:0
const load=async path=>{const r=await fetch(path,{cache:'no-store'});if(!r.ok)throw new Error(await r.text());return r.json()}
const once=work=>{let runs=false;return async()=>{if(runs)return;runs=true;try{await work()}catch(e){console.warn(e.message)}finally{runs=false}}}
const loadHistory=once(async()=>{
 const after=board.lastEntry<lastId()?0:lastId()
 const more=await load('history?after='+after)
 entries=(after===0?[]:entries).concat(more.entries).slice(-more.capacity)
 showHistory()
})
const HOUR=3600000,ROWS=12
const COLOURS={dead:'red','kubelet-sick':'red',healthy:'green'}
const colourOf=to=>COLOURS[to]||'yellow'
const EVENT={on:'red',off:'green',cut:'yellow',up:'green',left:'grey',joined:'green'}
const svg=(tag,attributes,text)=>{const e=document.createElementNS(NS,tag);for(const k in attributes)e.setAttribute(k,attributes[k]);if(text!==undefined)e.textContent=text;return e}
/** Per node its stretches of the hour; none for nodes that stayed as they were. */
const stretches=(begin,end)=>{
 const nodes=new Map()
 for(const e of entries){
  if(e.kind!=='class')continue
  const at=Date.parse(e.at)
  for(const name of e.nodes){
   const n=nodes.get(name)||{name,parts:[{from:0,to:e.from||'healthy'}],turned:0}
   nodes.set(name,n)
   n.parts.push({from:at,to:e.to});n.turned=at
  }
 }
 return[...nodes.values()].filter(n=>n.turned>=begin).sort((a,b)=>b.turned-a.turned).slice(0,ROWS).map(n=>({name:n.name,parts:n.parts.map((p,i)=>({to:p.to,from:Math.max(begin,p.from),until:i+1<n.parts.length?n.parts[i+1].from:end})).filter(p=>p.until>begin)}))
}
/** When nobody looked: from the last entry before a start of the agent. */
const gaps=begin=>entries.flatMap((e,i)=>{
 if(e.kind!=='agent'||e.to==='stopped'||Date.parse(e.at)<begin)return[]
 return[{from:Math.max(begin,i>0?Date.parse(entries[i-1].at):begin),until:Date.parse(e.at)}]
})
const showHistory=()=>{
 const end=serverNow(),begin=end-HOUR
 const recent=entries.filter(e=>Date.parse(e.at)>=begin)
 const nodes=stretches(begin,end),top=18,high=16
 const height=top+high*(nodes.length+1)+4,left=120,width=720
 const x=at=>left+(Math.min(at,end)-begin)/HOUR*(width-left-4)
 const parts=[]
 for(let m=0;m<=60;m+=15){const at=end-m*60000;parts.push(svg('line',{class:'tick',x1:x(at),x2:x(at),y1:top-4,y2:height}),svg('text',{x:x(at),y:11,'text-anchor':m===0?'end':'middle'},m===0?'now':'−'+m+' min'))}
 const name=(text,y)=>svg('text',{x:0,y:y+11},text.length>18?text.slice(0,17)+'…':text)
 parts.push(name('zone and agent',top))
 nodes.forEach((n,i)=>{
  const y=top+high*(i+1)
  parts.push(name(n.name,y))
  for(const p of n.parts)parts.push(svg('rect',{class:'seg','data-colour':colourOf(p.to),x:x(p.from),y:y+2,width:Math.max(2,x(p.until)-x(p.from)),height:high-5}))
 })
 for(const g of gaps(begin))parts.push(svg('rect',{class:'gap',x:x(g.from),y:top,width:Math.max(2,x(g.until)-x(g.from)),height:height-top}))
 for(const e of recent)if(e.kind!=='class')parts.push(svg('circle',{class:'dot',cx:x(Date.parse(e.at)),cy:top+7,r:3.5}))
 const line=$('line')
 line.setAttribute('viewBox','0 0 '+width+' '+height)
 line.setAttribute('aria-label','Time line of the last hour: '+(nodes.length===0?'no node turned':nodes.map(n=>n.name+' '+n.parts.map(p=>p.to).join(', then ')).join('; ')))
 line.replaceChildren(...parts)
 const shown=(allShown?entries:recent.slice(-10)).slice().reverse()
 sync($('events'),shown,e=>e.id,e=>{const li=make('li'),t=make('time',clockText(e.at));t.title=t.dateTime=e.at;li.append(t,make('span',e.text));return li},()=>{})
 setText($('events-none'),recent.length===0?'Nothing happened in the last hour.':'')
 setText($('more'),allShown?'Show less':'Show all '+entries.length+' entries')
 $('more').hidden=entries.length<=recent.slice(-10).length
}

// Who says what about whom
const GLYPH={u:'·',d:'✕',n:'?',o:'○','-':''}
const CELL={u:'green',d:'red',n:'yellow',o:'yellow','-':'grey'}
const SAYS={u:'says up',d:'says down',n:'has not looked',o:'said up, but not again since others say down'}
let matrix=null,cell=null
const ageStep=s=>s===null||s>60?2:s>20?1:0
const loadMatrix=once(async()=>{matrix=await load('matrix');showMatrix()})
const makeCells=(tr,count)=>{while(tr.cells.length<count)tr.append(tr.cells.length===0?make('th'):make('td'));while(tr.cells.length>count)tr.lastChild.remove()}
const showMatrix=()=>{
 const{targets,voters,roundTripSeconds}=matrix
 setText($('matrix-note'),(matrix.isPartial?'Of '+matrix.members+' nodes only those with trouble. ':'')+(targets.length===0?'Nobody has trouble.':'A row is a voter, a column is whom it looks at; fainter is older, striped does not count.'))
 const table=$('grid'),head=table.tHead.rows[0],trip=table.tBodies[0].rows[0],body=table.tBodies[1]
 const heads=['voter',...targets]
 while(head.cells.length<heads.length)head.append(make('th'))
 while(head.cells.length>heads.length)head.lastChild.remove()
 heads.forEach((n,i)=>{setText(head.cells[i],n);head.cells[i].scope='col'})
 makeCells(trip,targets.length+1)
 setText(trip.cells[0],'ms from here');trip.cells[0].scope='row'
 roundTripSeconds.forEach((s,i)=>{const td=trip.cells[i+1];td.className='ms';td.dataset.colour=s===null?'grey':s>.5?'red':s>.1?'yellow':'green';setText(td,s===null?'':String(Math.round(s*1000)))})
 while(body.rows.length<voters.length)body.append(make('tr'))
 while(body.rows.length>voters.length)body.lastChild.remove()
 voters.forEach((v,r)=>{
  const tr=body.rows[r]
  makeCells(tr,targets.length+1)
  setText(tr.cells[0],v.name);tr.cells[0].scope='row'
  for(let c=0;c<targets.length;c++){
   const td=tr.cells[c+1],says=v.says[c]
   td.dataset.colour=CELL[says];td.dataset.age=ageStep(v.ageSeconds);td.className=v.why!==null&&says!=='-'?'uncounted':''
   setText(td,GLYPH[says])
  }
 })
 point(cell)
}
const cellText=(r,c)=>{
 const v=matrix.voters[r],target=matrix.targets[c],says=v.says[c]
 if(says==='-')return v.name+(v.name===target?' does not vote about itself':' does not vote about '+target)
 const trip=v.name===board.self&&matrix.roundTripSeconds[c]!==null?', answered within '+Math.round(matrix.roundTripSeconds[c]*1000)+' ms':''
 return v.name+' '+SAYS[says]+' about '+target+', '+(v.ageSeconds===null?'never heard':Math.round(v.ageSeconds)+' s ago')+trip+(v.why===null?'':'; it does not count: '+v.why)
}
const point=at=>{
 const body=$('grid').tBodies[1]
 for(const td of body.querySelectorAll('.at'))td.classList.remove('at')
 cell=at
 const tr=at&&body.rows[at[0]],td=tr&&tr.cells[at[1]+1]
 if(!td){setText($('cell'),'Point at a cell, or move with the arrow keys.');return}
 td.classList.add('at')
 setText($('cell'),cellText(at[0],at[1]))
}
$('grid').addEventListener('mouseover',e=>{const td=e.target.closest('td'),tr=td&&td.parentNode;if(td&&tr.parentNode===$('grid').tBodies[1])point([tr.sectionRowIndex,td.cellIndex-1])})
$('grid-box').addEventListener('keydown',e=>{
 const move={ArrowUp:[-1,0],ArrowDown:[1,0],ArrowLeft:[0,-1],ArrowRight:[0,1]}[e.key]
 if(!move||!matrix||matrix.voters.length===0||matrix.targets.length===0)return
 e.preventDefault()
 const clamp=(n,most)=>Math.max(0,Math.min(most-1,n)),from=cell||[0,0]
 point(cell?[clamp(from[0]+move[0],matrix.voters.length),clamp(from[1]+move[1],matrix.targets.length)]:from)
 const td=$('grid').querySelector('.at')
 if(td)td.scrollIntoView({block:'nearest',inline:'nearest'})
})
$('matrix-box').addEventListener('toggle',()=>{if($('matrix-box').open)loadMatrix()})

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
$('drawer').addEventListener('close',()=>{openName=null})
$('shut').addEventListener('click',()=>$('drawer').close())
$('filter').addEventListener('input',()=>{if(board)showNodes()})
$('more').addEventListener('click',()=>{allShown=!allShown;showHistory()})
document.addEventListener('keydown',e=>{if(e.key==='/'&&openName===null&&document.activeElement!==$('filter')){e.preventDefault();$('filter').focus()}})
connect()
showTitle(0)
setInterval(showAge,1000)`
