// SPDX-License-Identifier: Apache-2.0

/** Colours have a contrast of at least 4.5 on their ground, in light and dark. */
export const STYLE = `
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1b1b;--dim:#595959;--line:#d5d5d5;--soft:#f3f3f3;--red:#b3261e;--yellow:#7a5200;--green:#1e6b27;--red-soft:#fbe3e1;--yellow-soft:#fbf0d6;--green-soft:#dff1e1;--link:#0b57b0}
@media(prefers-color-scheme:dark){:root{--ground:#141414;--ink:#ececec;--dim:#a9a9a9;--line:#3b3b3b;--soft:#212121;--red:#ff9d94;--yellow:#f3c55f;--green:#93d79a;--red-soft:#4a1a17;--yellow-soft:#3d2f0e;--green-soft:#16331a;--link:#8ab8ff}}
*{box-sizing:border-box}
body{font:16px/1.4 system-ui,sans-serif;margin:0 auto;max-width:72rem;padding:.5rem 1rem 2rem;background:var(--ground);color:var(--ink)}
h1{font-size:1.5rem;line-height:1.2;margin:.25rem 0}h2{font-size:1.1rem;margin:1.25rem 0 .4rem}h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.25rem 0}ul,ol{list-style:none;margin:0;padding:0}
button,input{font:inherit;color:inherit}
:focus-visible{outline:3px solid var(--link);outline-offset:1px}
[data-colour=red]{--mark:var(--red);--wash:var(--red-soft)}[data-colour=yellow]{--mark:var(--yellow);--wash:var(--yellow-soft)}[data-colour=green]{--mark:var(--green);--wash:var(--green-soft)}[data-colour=grey]{--mark:var(--dim);--wash:var(--soft)}
h1{color:var(--mark)}
#facts{display:flex;flex-wrap:wrap;gap:.25rem .5rem;font-size:.9rem}
#facts li{background:var(--wash);color:var(--mark);border-radius:.3rem;padding:.05rem .45rem;overflow-wrap:anywhere}
#stale{background:var(--red);color:var(--ground);padding:.4rem .6rem;border-radius:.3rem;font-weight:600}
#find{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.5rem 0}
#filter{flex:1 1 10rem;max-width:24rem;padding:.3rem .5rem;border:1px solid var(--dim);border-radius:.3rem;background:var(--ground)}
.row{display:grid;grid-template-columns:minmax(6rem,16rem) 8rem 4rem 1fr;gap:0 .75rem;width:100%;text-align:left;background:none;border:0;border-left:.35rem solid var(--mark);border-bottom:1px solid var(--line);padding:.4rem .5rem;cursor:pointer;overflow-wrap:anywhere}
.row:hover,.chip:hover{background:var(--soft)}
.row b{color:var(--mark)}.row em{font-style:normal;color:var(--dim)}
@media(max-width:40rem){.row{grid-template-columns:1fr auto auto}.row .why{grid-column:1/-1;font-size:.9rem}}
#well{display:flex;flex-wrap:wrap;gap:.25rem}
.chip{border:1px solid var(--line);border-radius:.3rem;background:none;padding:.1rem .4rem;cursor:pointer;overflow-wrap:anywhere;font-size:.9rem}
summary{cursor:pointer;font-weight:600;padding:.25rem 0}
.scroll{overflow:auto;max-height:80vh;border:1px solid var(--line)}
#line{display:block;width:100%;height:auto;min-width:30rem}
#line text{font-size:11px;fill:var(--dim)}#line .seg{fill:var(--mark)}#line .tick{stroke:var(--line)}#line .gap{fill:var(--line);opacity:.7}#line .dot{fill:var(--link)}
#events li{display:grid;grid-template-columns:5.5rem 1fr;gap:.5rem;border-bottom:1px solid var(--line);padding:.2rem 0;overflow-wrap:anywhere}
time{color:var(--dim);font-variant-numeric:tabular-nums}
.plain{background:none;border:1px solid var(--dim);border-radius:.3rem;padding:.15rem .6rem;cursor:pointer;margin:.3rem 0}
#grid{border-collapse:collapse;font-size:.75rem}
#grid th{font-weight:400;text-align:left;white-space:nowrap;padding:0 .3rem;position:sticky;left:0;background:var(--ground)}
#grid thead th{writing-mode:vertical-rl;transform:rotate(180deg);max-height:9rem;overflow:hidden;position:static;padding:.2rem 0}
#grid td{width:1.35rem;min-width:1.35rem;height:1.35rem;text-align:center;border:1px solid var(--ground);background:var(--wash);color:var(--ink)}
#grid td[data-age="1"]{opacity:.85}#grid td[data-age="2"]{opacity:.7}#grid td.uncounted{background:repeating-linear-gradient(45deg,var(--wash) 0 3px,var(--ground) 3px 6px)}
#grid td.at{outline:2px solid var(--link);outline-offset:-2px}
#grid .ms{font-size:.65rem}
dialog{width:min(60rem,100vw);max-width:100vw;max-height:92vh;margin:auto;border:1px solid var(--dim);border-radius:.4rem;background:var(--ground);color:var(--ink);padding:1rem}
dialog::backdrop{background:#0009}
dialog header{display:flex;justify-content:space-between;gap:1rem;align-items:start}
dialog h2{margin:0;overflow-wrap:anywhere}
pre{overflow:auto;background:var(--soft);padding:.6rem;border-radius:.3rem;font-size:.85rem;margin:.5rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.recipe{display:grid;grid-template-columns:1fr auto;gap:.1rem .5rem;padding:.25rem 0;align-items:center}
.recipe span{grid-column:1/-1;font-size:.9rem;color:var(--dim)}
.recipe code{background:var(--soft);padding:.2rem .4rem;border-radius:.3rem;overflow-wrap:anywhere;font-size:.85rem}
footer{margin-top:1.5rem;color:var(--dim);font-size:.9rem;overflow-wrap:anywhere}
[hidden]{display:none!important}`
