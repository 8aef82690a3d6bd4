import type { LeaseRecord } from '../../contract/storage.ts'
import { enginePlace } from '../../api/run-owner.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { moment, short, table } from '../values.ts'
import { eventsOf, type Visit } from '../visit.ts'

/** So many engines are shown. */
const MOST_ENGINES = 200

/** *Engines*: the leases on the storage, those that were heard last come first. */
export async function enginesPage(visit: Visit): Promise<PageContent> {
  const { inside } = visit
  const { storage } = inside.host
  const leases = await inside.read(() => storage.leases?.())
  const sorted = leases?.toSorted((one, other) => (other.until ?? Infinity) - (one.until ?? Infinity))
  return {
    title: 'Engines',
    section: 'engines',
    events: eventsOf(visit),
    body: html`<h1>Engines</h1>
      <div id="engines" data-live>
        ${
          sorted === undefined
            ? html`<p class="none">This storage does not list its engines.</p>`
            : table(
                ['Engine', 'State', 'Process', 'Last heard', 'Lease'],
                sorted.slice(0, MOST_ENGINES).map((lease) => rowOf(visit, lease)),
              )
        }
        ${sorted !== undefined && sorted.length > MOST_ENGINES && html`<p class="note">${sorted.length - MOST_ENGINES} more engines are not shown.</p>`}
        <p class="note">
          An engine that is not heard until its lease ends has stopped or has lost its storage. Others take
          its runs over.
        </p>
      </div>`,
  }
}

function rowOf({ inside, now }: Visit, lease: LeaseRecord): Html {
  const { owner, until, heardAt, isLost } = lease
  const isOver = isLost || (until ?? Infinity) <= now
  const place = enginePlace(lease)
  return html`<tr id="row-${owner}">
    <td>
      <span class="id">${short(owner)}</span> ${owner === inside.host.owner && html`<b>this engine</b>`}
    </td>
    <td>
      <span class="status ${isOver ? 'failed' : 'completed'}">${isOver ? 'LOST' : 'ALIVE'}</span>
    </td>
    <td data-label="process">${place === '' ? html`<span class="none">–</span>` : short(place)}</td>
    <td class="num" data-label="last heard">${moment(heardAt, now)}</td>
    <td class="num" data-label="lease ends">
      ${until === undefined ? 'no end while it is alone' : moment(until, now)}
    </td>
  </tr>`
}
