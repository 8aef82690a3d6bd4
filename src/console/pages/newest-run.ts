import type { RunRecord } from '../../contract/records.ts'
import { html, type Html } from '../../primitives/html.ts'
import { badge, moment, short } from '../values.ts'
import { placeOf, type Visit } from '../visit.ts'

/** How the newest run of a task went, and when it began, in a row about the task. */
export function newestRunCell(visit: Visit, newest: RunRecord | undefined): Html {
  return html`<td data-label="newest run">
    ${
      newest === undefined
        ? html`<span class="none">–</span>`
        : html`<a
              href="${placeOf(visit, 'runs', newest.id)}"
              aria-label="${newest.status}: run ${short(newest.id)}"
              >${badge(newest.status)}</a
            >
            ${moment(newest.createdAt, visit.now)}`
    }
  </td>`
}
