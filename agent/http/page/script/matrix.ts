// SPDX-License-Identifier: Apache-2.0

/** Who says what about whom. */
export const MATRIX = `
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
`
