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
  if (ms < 1000) return [true, 'now']
  const first = units.findIndex(([each]) => ms >= each)
  const [size, unit] = units[first]
  const [nextSize, nextUnit] = units[first + 1] ?? units[3]
  const more = Math.floor((ms % size) / nextSize)
  const text = Math.floor(ms / size) + ' ' + unit + (first < 2 && more > 0 ? ' ' + more + ' ' + nextUnit : '')
  return [at > Date.now() - skew, text]
}
function tellTimes() {
  for (const time of document.querySelectorAll('time')) {
    const at = Date.parse(time.dateTime)
    if (!Number.isNaN(at)) {
      const [isAhead, span] = relative(at)
      const text = span === 'now' || (isAhead && 'left' in time.dataset) ? span : isAhead ? 'in ' + span : span + ' ago'
      if (time.textContent !== text) time.textContent = text
    }
  }
}
setInterval(tellTimes, 1000)

// What changed is taken over in place: focus, selection, scroll and what is typed stay.
const KEPT = new Set(['open', 'data-at', 'data-gone', 'data-seen'])
const isTyped = (node) =>
  [...(node.querySelectorAll?.('input, textarea') ?? [])].some((field) =>
    field.type === 'radio' || field.type === 'checkbox' ? field.checked !== field.defaultChecked : field.value !== field.defaultValue)
function patchText(node, text) {
  const old = node.data
  let from = 0
  while (from < old.length && old[from] === text[from]) from += 1
  if (from === old.length) return node.appendData(text.slice(from))
  // A tail that is cut loses its beginning: what is read stays where it is.
  const lost = old.indexOf(text.slice(0, 64))
  if (text.length > 64 && lost > 0 && text.startsWith(old.slice(lost))) {
    const { parentElement } = node
    const height = parentElement.scrollHeight
    node.deleteData(0, lost)
    parentElement.scrollTop -= height - parentElement.scrollHeight
    return node.appendData(text.slice(old.length - lost))
  }
  let end = 0
  const most = Math.min(old.length, text.length) - from
  while (end < most && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1
  node.replaceData(from, old.length - from - end, text.slice(from, text.length - end))
}
function patch(node, next) {
  if (node.nodeType !== 1) { if (node.data !== next.data) patchText(node, next.data); return }
  for (const { name, value } of next.attributes)
    if (node.getAttribute(name) !== value && !KEPT.has(name)) node.setAttribute(name, value)
  for (const { name } of [...node.attributes]) if (!next.hasAttribute(name) && !KEPT.has(name)) node.removeAttribute(name)
  // The text of a time is told anew each second.
  if (node.tagName !== 'TIME') patchChildren(node, next)
}
function patchChildren(node, next) {
  const wantedIds = new Set(Array.from(next.children, ({ id }) => id))
  const list = node.dataset?.list === undefined ? undefined : new List(node, next, wantedIds)
  const byId = new Map(Array.from(node.children, (child) => [child.id, child]))
  for (const child of [...node.children]) {
    if (child.id === '' || wantedIds.has(child.id) || list?.keeps(child)) continue
    if (list !== undefined || !isTyped(child)) child.remove()
  }
  let at = node.firstChild
  for (const wanted of [...next.childNodes]) {
    const { id = '' } = wanted
    const known = id === '' ? undefined : byId.get(id)
    while (at !== null && at.id && !wantedIds.has(at.id)) at = at.nextSibling
    if (known !== undefined) {
      if (known !== at) node.insertBefore(known, at)
      at = known.nextSibling
      delete known.dataset.gone
      patch(known, wanted)
    } else if (id === '' && at !== null && !at.id && at.nodeName === wanted.nodeName) {
      const same = at
      at = at.nextSibling
      patch(same, wanted)
    } else if (id === '' || list?.waits(wanted) !== true) {
      node.insertBefore(document.importNode(wanted, true), at)
    }
  }
  while (at !== null) {
    const rest = at
    at = at.nextSibling
    if ((list === undefined || !rest.id) && !isTyped(rest)) rest.remove()
  }
  list?.tell()
}
// Rows do not move under a reader: new ones wait until they are asked for, and those that fit no more stay, dimmed.
const fresher = document.getElementById('fresher')
const PAGE = 50
let isAskedFor = false
class List {
  constructor(node, next, wantedIds) {
    this.next = next
    this.wantedIds = wantedIds
    this.waiting = 0
    this.isRead = !isAskedFor && (node.getBoundingClientRect().top < 0 || node.querySelector('[data-at]') !== null ||
      node.contains(document.activeElement) || isTyped(node) || (node.dataset.list === 'still' && node.matches(':hover')))
  }
  keeps(row) {
    if (!this.isRead) return false
    const told = this.next.ownerDocument.querySelector('[data-of="' + CSS.escape(row.id) + '"]')
    if (row.dataset.gone === undefined && (told !== null || !this.isBeyond(row))) {
      row.dataset.gone = ''
      for (const form of row.querySelectorAll('form, .acts')) form.inert = true
      if (told !== null) {
        const note = document.createElement('div')
        note.className = 'ended'
        note.setAttribute('role', 'status')
        note.append(...document.importNode(told, true).childNodes)
        row.append(note)
      }
    }
    return true
  }
  // New rows have pushed it off the page.
  isBeyond(row) {
    for (let below = row.nextElementSibling; below !== null; below = below.nextElementSibling)
      if (this.wantedIds.has(below.id)) return false
    return this.next.children.length >= PAGE
  }
  waits(row) {
    if (this.isRead && row.nodeType === 1) this.waiting += 1
    return this.isRead
  }
  tell() {
    fresher.hidden = this.waiting === 0
    fresher.textContent = this.waiting + ' new'
  }
}
fresher?.addEventListener('click', () => { isAskedFor = true; scrollTo(0, 0); void refresh() })

const atEnd = (tail) => tail.scrollTop + tail.clientHeight >= tail.scrollHeight - 4
const toEnd = (tail) => { tail.scrollTop = tail.scrollHeight }
// With isAnswer the page that is shown is the answer to a form, and keeps what it says as long as its state is the same.
function take(fresh, isAnswer = false) {
  if (!isAnswer) document.title = fresh.title
  if (fresher !== null) fresher.hidden = true
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = fresh.getElementById(part.id)
    if (next === null) continue
    const followed = [...part.querySelectorAll('[data-tail]')].filter(atEnd)
    if (part.dataset.live === next.dataset.live) { if (!isAnswer) patchChildren(part, next) }
    // What it was about has ended: it is there no more, whatever was typed.
    else { part.replaceChildren(...document.importNode(next, true).childNodes); part.dataset.live = next.dataset.live }
    for (const tail of part.querySelectorAll('[data-tail]:not([data-seen])')) { tail.dataset.seen = ''; toEnd(tail) }
    followed.forEach(toEnd)
  }
  isAskedFor = false
  tellTimes()
}
for (const tail of document.querySelectorAll('[data-tail]')) { tail.dataset.seen = ''; toEnd(tail) }

// What the page knows of its being up to date.
let isTold = false
let missedAt
function tell() {
  if (said === null) return
  const time = missedAt?.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  const text = missedAt === undefined ? (isTold ? 'Live' : '') : 'Not live since ' + time
  said.dataset.state = missedAt !== undefined ? 'off' : isTold ? 'on' : ''
  if (said.textContent !== text) said.textContent = text
}
function missed() { missedAt ??= new Date(); tell() }
const parsed = async (response) => new DOMParser().parseFromString(await response.text(), 'text/html')
let isAsking = false
let isAskedAgain = false
async function refresh() {
  if (isAsking) { isAskedAgain = true; return }
  isAsking = true
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (response.redirected && new URL(response.url).pathname.endsWith('/login')) { missed(); said.textContent = 'Your login has ended' }
    else if (response.ok) { take(await parsed(response), response.redirected); if (isTold) missedAt = undefined; tell() }
    else missed()
  } catch { missed() }
  // Changes that come one upon another are looked at together.
  setTimeout(() => {
    isAsking = false
    if (isAskedAgain) { isAskedAgain = false; void refresh() }
  }, 200)
}

const { events: source, tabs } = document.body.dataset
if (source !== undefined && document.querySelector('[data-live]') !== null) {
  let close
  const told = {
    // What has changed since the page was made, or while the connection was gone.
    open: () => { isTold = true; void refresh() },
    error: () => { isTold = false; missed() },
    changed: () => void refresh(),
  }
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
  setInterval(() => {
    if (document.hidden) return
    // A connection that was refused is not tried again by itself.
    if (!isTold) { leave(); follow() }
    // Engines of other processes tell of no changes of theirs.
    void refresh()
  }, 10000)
}

// Answers in a list are sent from where they are. What is not taken is sent once more, for the page that says why.
const sent = new Map()
addEventListener('submit', async (event) => {
  const { target: form, submitter } = event
  if (form.closest('[data-in-place]') === null || sent.get(form) === 'again') return
  event.preventDefault()
  if (sent.has(form)) return
  sent.set(form, 'once')
  const body = new URLSearchParams(new FormData(form, submitter))
  const answer = await fetch(form.getAttribute('action'), { method: 'POST', body }).catch(() => undefined)
  if (answer === undefined) missed()
  else if (answer.redirected && answer.ok) { form.reset(); take(await parsed(answer)) }
  else { sent.set(form, 'again'); form.requestSubmit(submitter) }
  sent.delete(form)
})

// Keys.
const help = document.getElementById('keys')
const rows = () => [...document.querySelectorAll('main :is(tbody tr, .ask, .tree .row)')].filter((row) => row.offsetParent !== null)
const current = () => document.querySelector('[data-at]')
function select(row) {
  current()?.removeAttribute('data-at')
  if (row === undefined) return
  row.dataset.at = ''
  row.querySelector('a')?.focus({ preventScroll: true })
  row.scrollIntoView({ block: 'nearest' })
}
function move(step) {
  const all = rows()
  if (all.length > 0) select(all[Math.min(Math.max(all.indexOf(current()) + step, 0), all.length - 1)])
}
const CONTROLS = ':is(button, textarea, select, input:not([type=hidden])):not(.unseen)'
const PARTS = { a: '#answer', c: '#cancel' }
function enter(place, key) {
  if (place.tagName === 'A') return location.assign(place.href.split('#')[0] + PARTS[key])
  if (place.tagName === 'DETAILS') place.open = true
  const control = place.querySelector(CONTROLS)
  control?.focus()
  control?.scrollIntoView({ block: 'nearest' })
}
// What a key does is done in the row, else on the page.
function act(key) {
  const row = current()
  const acts = '[data-act=' + key + ']'
  // Without a row it is the first question that is answered.
  const place = row?.querySelector(acts) ?? document.querySelector(acts + ':not(tr *, li *)') ??
    (row === null && key === 'a' ? document.querySelector(acts) : null)
  if (place !== null) enter(place, key)
  return place !== null
}
function fold(isOpen) {
  const rowsBelow = current()?.querySelector('.fold') ?? null
  if (rowsBelow !== null) rowsBelow.open = isOpen
  return rowsBelow !== null
}
const KEYS = {
  '/': () => { const field = document.querySelector('[data-search]'); field?.focus(); field?.select(); return field !== null },
  j: () => move(1),
  k: () => move(-1),
  h: () => fold(false),
  l: () => fold(true),
  a: () => act('a'),
  c: () => act('c'),
  x: () => { const box = current()?.querySelector('[data-pick]'); box?.click(); return box !== null && box !== undefined },
  '?': () => help?.showModal(),
}
addEventListener('keydown', (event) => {
  const { key, target } = event
  const isField = target.matches?.('input, textarea, select') === true
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || help?.open === true) return
  if (key === 'Escape') { target.blur?.(); if (!isField) select() }
  else if (!isField && Object.hasOwn(KEYS, key) && KEYS[key]() !== false) event.preventDefault()
})
document.getElementById('show-keys')?.addEventListener('click', () => help?.showModal())

// What is asked for by its name is opened. A page that one comes back to has its row, and its place.
const named = location.hash === '' ? null : document.getElementById(location.hash.slice(1))
// A browser that goes to a part takes the focus away once the page is loaded.
if (named?.dataset.act !== undefined) addEventListener('load', () => setTimeout(() => enter(named)))
const PLACE = 'place of ' + location.pathname + location.search
if (performance.getEntriesByType('navigation')[0]?.type === 'back_forward') {
  const [row, top] = JSON.parse(sessionStorage.getItem(PLACE) ?? '["",0]')
  select(document.getElementById(row) ?? undefined)
  scrollTo(0, top)
}
addEventListener('pagehide', () => sessionStorage.setItem(PLACE, JSON.stringify([current()?.id ?? '', scrollY])))

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
