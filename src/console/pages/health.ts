import { messageOf } from '../../primitives/message.ts'
import { html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { limitShown } from './queues.ts'
import { count, facts, isoOf, marked, short, table } from '../values.ts'
import { eventsOf, linkTo, type Visit } from '../visit.ts'

/** *Health*: the engine that serves the console, and its storage. */
export async function healthPage(visit: Visit): Promise<PageContent> {
  const { engine, inside, now } = visit
  const { host, tasks } = inside
  const { executes, freeSlots, readers } = inside.counts()
  const { attempts, executing, waits } = engine.stats()
  const before = host.now()
  const problem = await inside
    .call(() => host.storage.runs.list({}, { limit: 1 }))
    .then(
      () => undefined,
      (error: unknown) => messageOf(error),
    )
  const tookMs = host.now() - before
  const set = await inside.call(() => host.storage.queues?.list()).catch(() => undefined)
  return {
    title: 'Health',
    section: 'health',
    events: eventsOf(visit),
    body: html`<h1>Health</h1>
      <div id="health" data-live>
        <h2>Storage</h2>
        ${
          problem === undefined
            ? html`<p>
                ${marked('completed', 'OK')} It answers: a list of one run took ${count(tookMs)} ms.
              </p>`
            : html`<p>${marked('failed', 'AWAY')} It does not answer: ${short(problem, 1_000)}</p>`
        }
        <h2>This engine</h2>
        ${facts([
          ['Name of its lease', html`<span class="id">${host.owner}</span>`],
          ['Time of the engine', isoOf(now)],
          ['Executes runs', executes ? 'yes' : 'no: execute is false'],
          ['Attempts under way', count(attempts)],
          ['Runs that hold a slot', count(executing)],
          ['Free slots', freeSlots === Infinity ? 'no limit' : count(freeSlots)],
          ['Tokens that runs wait for', count(waits)],
          ['Readers that follow runs', count(readers)],
        ])}
        <h2>Tasks</h2>
        ${
          tasks.definitions.length === 0
            ? html`<p class="none">none: this engine triggers and reads only</p>`
            : table(
                ['Task', 'Version', 'Queue', 'Limit'],
                tasks.definitions.map(
                  ({ id, version, queue }) =>
                    html`<tr>
                      <td>
                        <a class="name" href="${linkTo(visit, 'runs', { task: id })}">${short(id)}</a>
                      </td>
                      <td data-label="version"><code>${short(version, 20)}</code></td>
                      <td data-label="queue">${short(queue)}</td>
                      <td class="num" data-label="limit">
                        ${limitShown(
                          visit,
                          queue,
                          set?.find(({ name }) => name === queue),
                        )}
                      </td>
                    </tr>`,
                ),
              )
        }
      </div>`,
  }
}
