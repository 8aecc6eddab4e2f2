// SPDX-License-Identifier: Apache-2.0

/** The list of nodes. */
export const NODES = `
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
`
