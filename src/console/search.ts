import { exactly, html, type Html } from '../primitives/html.ts'
import { filtersOf } from './filters.ts'
import { Refused } from './refused.ts'
import { isMemberName } from './sought.ts'
import { short } from './values.ts'
import { linkTo, type Visit } from './visit.ts'

const LONGEST_SEARCH = 1_000
/** `key:value`, `key:"a value"`, `"a text"`, or a word. */
const TERMS = /(?:([^\s":]+):)?(?:"((?:[^"\\]|\\.)*)"|([^\s"]\S*))/g

/** What can be searched for in a list. */
export interface SearchWords {
  readonly section: 'runs' | 'tokens'
  /** The keys that filter the list: those of its address. */
  readonly keys: readonly string[]
  /** What an id begins with. */
  readonly idStart: string
  /** The key of what is typed without one. */
  readonly otherwise: string
}

export const RUN_WORDS: SearchWords = {
  section: 'runs',
  keys: ['status', 'task', 'tag', 'queue', 'since', 'id', 'root', 'show', 'text'],
  idStart: 'run_',
  otherwise: 'text',
}
export const TOKEN_WORDS: SearchWords = {
  section: 'tokens',
  keys: ['status', 'tag', 'since', 'id'],
  idStart: 'waitpoint_',
  otherwise: 'tag',
}

/** Where a search leads to: the address of its list, with what was typed as filters. Absent: nothing was searched for. */
export function searchedAddress(visit: Visit): string | undefined {
  const words = [RUN_WORDS, TOKEN_WORDS].find(({ section }) => linkTo(visit, section) === visit.url.pathname)
  const { q, ...filters } = filtersOf(visit)
  if (words === undefined || q === undefined) return undefined
  if (q.length > LONGEST_SEARCH)
    throw new Refused(400, 'This search is too long.', `It has at most ${String(LONGEST_SEARCH)} characters.`)
  return linkTo(visit, words.section, { ...filters, ...termsOf(q, words) })
}

function termsOf(typed: string, { keys, idStart, otherwise }: SearchWords): Readonly<Record<string, string>> {
  const terms: Record<string, string> = {}
  const texts: string[] = []
  for (const [whole, key = '', quoted, word = ''] of typed.matchAll(TERMS)) {
    const value = quoted?.replace(/\\(.)/g, '$1') ?? word
    if (keys.includes(key) || (otherwise === 'text' && isMemberName(key))) terms[key] = value
    else if (key === '' && quoted === undefined && word.startsWith(idStart)) terms['id'] = word
    else texts.push(key === '' && quoted !== undefined ? value : whole)
  }
  if (texts.length > 0) terms[otherwise] = texts.join(' ')
  return terms
}

/** The one field above a list, with the filters of its address as chips that take themselves away. */
export function searchField(
  visit: Visit,
  { section, keys }: SearchWords,
  { placeholder, proposed }: { readonly placeholder: string; readonly proposed: readonly string[] },
): Html {
  const filters = filtersOf(visit)
  const shown = Object.entries(filters).filter(
    ([key, value]) => value !== '' && (keys.includes(key) || isMemberName(key)),
  )
  return html`<form class="search" method="get" action="${linkTo(visit, section)}" role="search">
    <svg class="i" aria-hidden="true"><use href="#i-search" /></svg>
    ${shown.map(
      ([key, value]) =>
        html`<input type="hidden" name="${key}" value="${exactly(value)}" /><a
            class="chip"
            href="${linkTo(visit, section, { ...filters, [key]: '' })}"
            aria-label="Remove ${key} ${short(value)}"
            ><span><b>${key}:</b>${short(value)}</span
            ><svg class="i" aria-hidden="true"><use href="#i-x" /></svg
          ></a>`,
    )}
    <input
      name="q"
      type="search"
      list="words"
      data-search
      aria-label="Search ${section}"
      placeholder="${shown.length === 0 ? placeholder : 'Add…'}"
      maxlength="${String(LONGEST_SEARCH)}"
      autocomplete="off"
      spellcheck="false"
    />
    <datalist id="words">${proposed.map((each) => html`<option value="${each}"></option>`)}</datalist>
    <button>Search</button>
  </form>`
}
