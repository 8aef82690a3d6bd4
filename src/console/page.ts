import { sha256 } from '../primitives/digest.ts'
import { html, type Html } from '../primitives/html.ts'
import { MARKS } from './marks.ts'
import { SCRIPT, TABS_SCRIPT } from './script.ts'
import { STYLE } from './style.ts'

/** A mark for the tab of the browser: a ring with a point. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="11" fill="none" stroke="#2f6fd6" stroke-width="4"/><circle cx="16" cy="16" r="4" fill="#2f6fd6"/></svg>`

/** A file that all pages load. Its address changes with its content. */
interface PageFile {
  readonly type: string
  readonly content: string
  readonly version: string
}

const file = (type: string, content: string): PageFile => ({
  type,
  content,
  version: sha256(content, 'hex').slice(0, 12),
})

/** The files that all pages load. They hold nothing of an engine, so they need no login. */
export const pageFiles = (): ReadonlyMap<string, PageFile> =>
  (files ??= new Map([
    ['style.css', file('text/css; charset=utf-8', STYLE)],
    ['script.js', file('text/javascript; charset=utf-8', SCRIPT)],
    ['tabs.js', file('text/javascript; charset=utf-8', TABS_SCRIPT)],
    ['icon.svg', file('image/svg+xml', ICON)],
  ]))
let files: ReadonlyMap<string, PageFile> | undefined

/** Nothing but what the console itself serves, and no script or style within a page. */
const POLICY = [
  `default-src 'none'`,
  `style-src 'self'`,
  `script-src 'self'`,
  `img-src 'self'`,
  `connect-src 'self'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** The headers of every answer of a console. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** One page. */
export interface PageContent {
  readonly title: string
  readonly body: Html
  /** The entry of the navigation that it belongs to. */
  readonly section?: 'runs' | 'inbox' | 'tasks' | 'queues' | 'schedules' | 'engines' | 'health'
  /** The address that tells of changes of what is shown. */
  readonly events?: string
}

export interface PageFrame {
  readonly base: string
  readonly now: number
  /** The token of forms; none: there is no login to end. */
  readonly formToken?: string
  readonly isReadOnly: boolean
}

const SECTIONS = [
  ['runs', 'Runs'],
  ['inbox', 'Inbox'],
  ['tasks', 'Tasks'],
  ['queues', 'Queues'],
  ['schedules', 'Schedules'],
  ['engines', 'Engines'],
  ['health', 'Health'],
] as const

/** The whole document of a page. */
export function documentOf(content: PageContent, frame: PageFrame): string {
  const { title, body, section, events } = content
  const { base, now } = frame
  const address = (name: string): string => `${base}/${name}?v=${pageFiles().get(name)?.version ?? ''}`
  return `<!doctype html>${html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="robots" content="noindex" />
      <title>${title} · waitpoint</title>
      <link rel="icon" href="${address('icon.svg')}" />
      <link rel="stylesheet" href="${address('style.css')}" />
      <script src="${address('script.js')}" defer></script>
    </head>
    <body
      data-now="${now}"
      ${events !== undefined && html`data-events="${events}" data-tabs="${address('tabs.js')}"`}
    >
      ${section !== undefined && MARKS}<a class="skip" href="#content">To the content</a>
      ${section !== undefined && topOf(section, frame)}
      <main id="content">${body}</main>
      ${section !== undefined && KEYS}
    </body>
  </html> `.toString()}`
}

function topOf(section: string, { base, formToken, isReadOnly }: PageFrame): Html {
  return html`<header class="top">
    <a class="brand" href="${base}/runs"
      ><svg class="i" aria-hidden="true"><use href="#i-mark" /></svg>waitpoint</a
    >
    <nav aria-label="Pages">
      ${SECTIONS.map(
        ([name, label]) =>
          html`<a href="${base}/${name}" ${section === name && html`aria-current="page"`}>${label}</a>`,
      )}
    </nav>
    <div class="end">
      ${isReadOnly && html`<span>read-only</span>`}<span class="live only-script" role="status"></span>
      <button id="show-keys" class="plain only-script" type="button" aria-label="Keys"><kbd>?</kbd></button>
      ${
        formToken !== undefined &&
        html`<form method="post" action="${base}/logout">
          <input type="hidden" name="_token" value="${formToken}" /><button class="plain">Log out</button>
        </form>`
      }
    </div>
  </header>`
}

const KEYS = html`<button id="fresher" type="button" hidden></button>
  <dialog id="keys" aria-labelledby="keys-title">
    <h2 id="keys-title">Keys</h2>
    <dl class="pairs">
      <dt><kbd>/</kbd></dt>
      <dd>search</dd>
      <dt><kbd>j</kbd> <kbd>k</kbd></dt>
      <dd>next and previous row</dd>
      <dt><kbd>Enter</kbd></dt>
      <dd>open the row</dd>
      <dt><kbd>h</kbd> <kbd>l</kbd></dt>
      <dd>fold and unfold the row of a tree</dd>
      <dt><kbd>x</kbd></dt>
      <dd>select the run</dd>
      <dt><kbd>a</kbd></dt>
      <dd>answer: in the row, else on the page</dd>
      <dt><kbd>c</kbd></dt>
      <dd>cancel the run, once it is confirmed</dd>
      <dt><kbd>Esc</kbd></dt>
      <dd>out of a field, and of the row</dd>
      <dt><kbd>?</kbd></dt>
      <dd>this list</dd>
    </dl>
    <form method="dialog"><button>Close</button></form>
  </dialog>`
