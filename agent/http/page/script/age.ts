// SPDX-License-Identifier: Apache-2.0

/** The connection to the agent, and how old what is shown is. */
export const AGE = `
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
`
