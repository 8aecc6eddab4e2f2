// SPDX-License-Identifier: Apache-2.0

/** The time line and the entries of the last hour. */
export const LAST_HOUR = `
// The last hour
let entries=[],allShown=false
const lastId=()=>entries.length?entries[entries.length-1].id:0
const load=async path=>{const r=await fetch(path,{cache:'no-store'});if(!r.ok)throw new Error(await r.text());return r.json()}
// One at a time; what is wanted meanwhile is done once afterwards.
const once=work=>{
 let runs=false,again=false
 return async()=>{
  again=true
  if(runs)return
  runs=true
  while(again){again=false;try{await work()}catch(e){console.warn(e.message)}}
  runs=false
 }
}
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
`
