/**
 * The script of the pages, as it is sent to browsers. The pages work without it. It keeps times up to date, takes over what
 * changed as the engine tells of it, and moves about by keys.
 */
export const SCRIPT = `
'use strict'
const root = document.documentElement
root.classList.add('scripted')
const said = document.querySelector('.live')

// Times from now.
const units = [[86400000, 'd'], [3600000, 'h'], [60000, 'min'], [1000, 's']]
const skew = Date.now() - Number(document.body.dataset.now)
function relative(at) {
  const ms = Math.abs(at - (Date.now() - skew))
  if (ms < 1000) return 'now'
  const first = units.findIndex(([each]) => ms >= each)
  const [size, unit] = units[first]
  const [nextSize, nextUnit] = units[first + 1] ?? units[3]
  const more = Math.floor((ms % size) / nextSize)
  const text = Math.floor(ms / size) + ' ' + unit + (first < 2 && more > 0 ? ' ' + more + ' ' + nextUnit : '')
  return at > Date.now() - skew ? 'in ' + text : text + ' ago'
}
function tellTimes() {
  for (const time of document.querySelectorAll('time')) {
    const at = Date.parse(time.dateTime)
    if (!Number.isNaN(at)) {
      const text = relative(at)
      if (time.textContent !== text) time.textContent = text
    }
  }
}
setInterval(tellTimes, 1000)

// What changed. A part in which the reader is typing, or has typed, stays as it is, unless it is about another state.
let isAsking = false
let isAskedAgain = false
async function refresh() {
  if (isAsking) { isAskedAgain = true; return }
  isAsking = true
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual' })
    if (response.status === 200) take(new DOMParser().parseFromString(await response.text(), 'text/html'))
  } catch { /* The next change, or the next look, asks again. */ }
  isAsking = false
  if (isAskedAgain) { isAskedAgain = false; void refresh() }
}
function take(fresh) {
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = fresh.getElementById(part.id)
    if (next === null || sameText(part, next)) continue
    if (part.dataset.live === next.dataset.live) {
      if (part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) continue
      if ([...part.querySelectorAll('textarea, input')].some((field) => field.value !== field.defaultValue)) continue
    }
    part.dataset.live = next.dataset.live
    const opened = [...part.querySelectorAll('details[open][id]')].map(({ id }) => id)
    const selected = part.querySelector('tr.selected')?.id
    const scrolled = [...part.querySelectorAll('pre')].map((pre) => [pre.scrollTop, pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4])
    part.replaceChildren(...document.importNode(next, true).childNodes)
    part.querySelectorAll('pre').forEach((pre, at) => {
      const [top, isAtEnd] = scrolled[at] ?? [0, false]
      pre.scrollTop = isAtEnd ? pre.scrollHeight : top
    })
    if (selected) document.getElementById(selected)?.classList.add('selected')
    for (const id of opened) document.getElementById(id)?.setAttribute('open', '')
  }
  tellTimes()
}
const withoutTimes = (part) => {
  const copy = part.cloneNode(true)
  for (const time of copy.querySelectorAll('time')) time.textContent = ''
  for (const opened of copy.querySelectorAll('details')) opened.open = false
  for (const row of copy.querySelectorAll('tr')) { row.classList.remove('selected'); if (row.className === '') row.removeAttribute('class') }
  return copy.innerHTML
}
const sameText = (one, other) => withoutTimes(one) === withoutTimes(other)

const { events: source, tabs } = document.body.dataset
if (source !== undefined && document.querySelector('[data-live]') !== null) {
  let close
  const told = {
    // What has changed since the page was made, or while the connection was gone.
    open: () => { tell('on', 'live'); void refresh() },
    error: () => tell('off', 'not live'),
    changed: () => void refresh(),
  }
  const tell = (state, text) => { if (said !== null) { said.dataset.state = state; said.textContent = text } }
  // A browser has six connections to a host: its tabs share one, where it can.
  const shared = () => {
    const { port } = new SharedWorker(tabs)
    port.onmessage = ({ data }) => told[data]()
    port.postMessage(source)
    return () => { port.postMessage(''); port.close() }
  }
  const own = () => {
    const events = new EventSource(source)
    for (const type of Object.keys(told)) events.addEventListener(type, told[type])
    return () => events.close()
  }
  const leave = () => { close?.(); close = undefined }
  // A page that is not seen is told nothing, and catches up when it is.
  const follow = () => {
    if (document.hidden) return leave()
    close ??= typeof SharedWorker === 'function' ? shared() : own()
  }
  follow()
  addEventListener('pagehide', leave)
  addEventListener('pageshow', follow)
  document.addEventListener('visibilitychange', follow)
  // Engines of other processes tell of no changes of theirs.
  setInterval(() => { if (!document.hidden) void refresh() }, 10000)
}

// Keys.
const help = document.getElementById('keys')
const rows = () => [...document.querySelectorAll('tbody tr')]
function select(step) {
  const all = rows()
  if (all.length === 0) return
  const before = all.findIndex((row) => row.classList.contains('selected'))
  const at = Math.min(Math.max(before + step, 0), all.length - 1)
  all[before]?.classList.remove('selected')
  all[at].classList.add('selected')
  all[at].querySelector('a')?.focus({ preventScroll: true })
  all[at].scrollIntoView({ block: 'nearest' })
}
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, textarea, select')) return
  if (event.key === '/') { event.preventDefault(); document.querySelector('[data-search]')?.focus() }
  else if (event.key === 'j') select(1)
  else if (event.key === 'k') select(-1)
  else if (event.key === '?') help?.showModal()
})
document.getElementById('show-keys')?.addEventListener('click', () => help?.showModal())

// Copies of what is shown.
for (const button of document.querySelectorAll('[data-copy]')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
    button.textContent = 'Copied'
  })
}
`

/** The script that the tabs of a browser share: it follows what all of them show by one event source, and tells each what concerns it. */
export const TABS_SCRIPT = `
'use strict'
const tabs = new Map()
let events
let followed = ''
const tell = (type, isTold = () => true) => { for (const [port, what] of tabs) if (isTold(what)) port.postMessage(type) }
function follow() {
  const shown = [...new Set(tabs.values())].sort()
  const address = shown.length === 0 ? '' : 'events?' + shown.map((what) => 'of=' + encodeURIComponent(what)).join('&')
  if (address === followed && events?.readyState !== 2) return false
  followed = address
  events?.close()
  events = address === '' ? undefined : new EventSource(address)
  events?.addEventListener('open', () => tell('open'))
  events?.addEventListener('error', () => tell('error'))
  events?.addEventListener('changed', ({ data }) => tell('changed', (what) => data === '' || data.split(' ').includes(what)))
  return true
}
addEventListener('connect', ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    if (data === '') tabs.delete(port)
    else tabs.set(port, new URL(data, location.href).searchParams.get('of'))
    if (!follow() && data !== '' && events.readyState === 1) port.postMessage('open')
  }
})
`
