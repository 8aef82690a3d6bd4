import { isFinal } from '../../contract/run-states.ts'
import { LONGEST_TAG } from '../../core/inside.ts'
import { html, type Html } from '../../primitives/html.ts'
import { filterOfRuns, filtersOf } from '../filters.ts'
import type { PageContent } from '../page.ts'
import { type ChosenRun, runsByFilter, runsById } from '../records.ts'
import { Refused } from '../refused.ts'
import { badge, count, moment, short, table } from '../values.ts'
import { formToken, linkTo, may, placeOf, type Visit } from '../visit.ts'

/** So many of the runs are shown before something is done to them. */
const MOST_SHOWN = 20

/** What can be done to many runs, and the words for it. */
interface Many {
  readonly verb: string
  readonly done: string
  readonly fits: (run: ChosenRun) => boolean
  /** What there is to type for it. */
  readonly field?: Html
}

export type ManyAction = 'cancel' | 'replay' | 'tag'

const isOpen = ({ status }: ChosenRun): boolean => !isFinal(status)

const MANY: Readonly<Record<ManyAction, Many>> = {
  cancel: { verb: 'Cancel', done: 'canceled', fits: isOpen },
  replay: { verb: 'Replay', done: 'started again', fits: () => true },
  tag: {
    verb: 'Tag',
    done: 'tagged',
    fits: isOpen,
    field: html`<label
      >Tag <input name="tag" required maxlength="${LONGEST_TAG}" autocomplete="off"
    /></label>`,
  },
}
const ACTIONS = Object.keys(MANY) as readonly ManyAction[]

export function requireManyAction(text: string | null): ManyAction {
  const action = ACTIONS.find((each) => each === text)
  if (action !== undefined) return action
  throw new Refused(400, 'This cannot be done to many runs.', 'They can be canceled, replayed, or tagged.')
}

/** What can be done to the runs of a list that are chosen, and to all that fit its filters. Empty for a visitor who may do nothing. */
export async function manyParts(visit: Visit): Promise<{ readonly bar?: Html; readonly all?: Html }> {
  const actions: ManyAction[] = []
  for (const each of ACTIONS) if (await may(visit, each)) actions.push(each)
  if (actions.length === 0) return {}
  return {
    bar: html`<div class="bulk">
      ${actions.map((each) => html`<button name="do" value="${each}">${MANY[each].verb} selected…</button>`)}
    </div>`,
    all: html`All that fit:
    ${actions.map((each) => html`<a href="${linkTo(visit, 'many', { ...listFilters(visit), do: each })}">${MANY[each].verb.toLowerCase()}…</a> `)}`,
  }
}

/** *Many runs*: how many there are, before something is done to them. They are named by the address, or by the filters of a list. */
export async function manyPage(visit: Visit): Promise<PageContent> {
  const { searchParams } = visit.url
  const action = requireManyAction(searchParams.get('do'))
  if (!(await may(visit, action))) throw new Refused(403, 'You may look, but not do this.')
  const ids = searchParams.getAll('run')
  const { records, isMore } =
    ids.length > 0
      ? { records: await runsById(visit.inside, ids), isMore: false }
      : await runsByFilter(visit.inside, filterOfRuns(visit))
  const { verb, fits } = MANY[action]
  const fitting = records.filter(fits)
  const left = records.length - fitting.length
  const runs = runsWord(fitting.length)
  return {
    title: `${verb} ${runs}`,
    section: 'runs',
    body: html`<h1>${fitting.length === 0 ? `Nothing to ${action}` : `${verb} ${runs}?`}</h1>
      <div>
        ${isMore && html`<p class="told">More may fit: these are the newest. Come back for the others.</p>`}
        ${left > 0 && html`<p class="soft">${leftOut(left)}</p>`}
        <div class="actions">
          ${fitting.length > 0 && confirmation(visit, action, fitting)}${backLink(visit)}
        </div>
        ${
          fitting.length > 0 &&
          html`<h2>${fitting.length > MOST_SHOWN ? `The first ${count(MOST_SHOWN)} of them` : 'These'}</h2>
            ${listOf(visit, fitting.slice(0, MOST_SHOWN))}`
        }
      </div>`,
  }
}

function leftOut(left: number): string {
  return left === 1 ? '1 has ended, and stays as it is.' : `${count(left)} have ended, and stay as they are.`
}

/** Exactly what was shown is done, once, however often the form is sent. */
function confirmation(visit: Visit, action: ManyAction, records: readonly ChosenRun[]): Html {
  return html`<form method="post" action="${linkTo(visit, 'many', { ...listFilters(visit), do: action })}">
    ${formToken(visit)}<input type="hidden" name="once" value="${visit.inside.host.made('call').id}" />
    <input type="hidden" name="runs" value="${records.map(({ id }) => id).join(' ')}" />
    ${MANY[action].field}<button class="main">${MANY[action].verb} ${runsWord(records.length)}</button>
  </form>`
}

function listOf(visit: Visit, records: readonly ChosenRun[]): Html {
  return table(
    ['Run', 'Status', 'Created'],
    records.map(
      ({ id, taskId, status, createdAt }) =>
        html`<tr>
          <td>
            <a class="name" href="${placeOf(visit, 'runs', id)}">${short(taskId)}</a
            ><span class="id">${short(id)}</span>
          </td>
          <td>${badge(status)}</td>
          <td class="num" data-label="created">${moment(createdAt, visit.now)}</td>
        </tr>`,
    ),
  )
}

/** A run to which something was not done, and why. */
export interface NotDone {
  readonly id: string
  readonly because: string
}

/** What has become of it. */
export function manyDonePage(
  visit: Visit,
  {
    action,
    done,
    notDone,
  }: { readonly action: ManyAction; readonly done: number; readonly notDone: readonly NotDone[] },
): PageContent {
  const said = `${runsWord(done)} ${done === 1 ? 'was' : 'were'} ${MANY[action].done}`
  return {
    title: said,
    section: 'runs',
    body: html`<h1>${said}</h1>
      <div>
        ${
          notDone.length > 0 &&
          html`<h2>${runsWord(notDone.length)} ${notDone.length === 1 ? 'was' : 'were'} not</h2>
            ${table(
              ['Run', 'Why'],
              notDone.map(
                ({ id, because }) =>
                  html`<tr>
                    <td><a class="id" href="${placeOf(visit, 'runs', id)}">${short(id)}</a></td>
                    <td class="says ink">${short(because, 300)}</td>
                  </tr>`,
              ),
            )}`
        }
        <div class="actions">${backLink(visit)}</div>
      </div>`,
  }
}

/** Those of the list that it came from. */
function listFilters(visit: Visit): Readonly<Record<string, string>> {
  const { do: _do, run: _run, ...filters } = filtersOf(visit)
  return filters
}

function backLink(visit: Visit): Html {
  return html`<a class="button" href="${linkTo(visit, 'runs', listFilters(visit))}">Back to the runs</a>`
}

function runsWord(number: number): string {
  return `${count(number)} ${number === 1 ? 'run' : 'runs'}`
}
