import type { Hono } from 'hono'
import { html } from 'hono/html'
import type { Engine, Run } from 'waitpoint'
import { createApp } from '../host.ts'
import type { Html } from '../layout.ts'
import { type ImportTasks, type Report, SUPPLIERS, type SupplierImport, TIME_ZONE } from './import.ts'

/** When the next import begins, what the last ones have brought, and a button that begins one now. */
export function importPages(engine: Engine, { importSupplier, nightlyImport }: ImportTasks): Hono {
  const live = async (): Promise<Html> => {
    const [schedule] = await engine.schedules.list()
    const { data: imports } = await engine.runs.list({ taskIdentifier: nightlyImport.id, limit: 5 })
    const { data: children } = await engine.runs.list({ taskIdentifier: importSupplier.id, limit: 50 })
    const childrenOf = ({ id }: Run): Run[] => children.filter(({ parentId }) => parentId === id).reverse()
    return html`
      <p>The next one begins at <b>${schedule?.nextAt && inTown(schedule.nextAt)}</b>.</p>
      <h2>Imports</h2>
      <ul>${imports.map((run) => importItem(run, childrenOf(run)))}</ul>`
  }
  const app = createApp(engine, { title: 'Nightly import', top: FORM, live })

  app.post('/imports', async (c) => {
    await engine.trigger(nightlyImport, {
      type: 'IMPERATIVE',
      scheduleId: 'by hand',
      timestamp: new Date(),
      timezone: TIME_ZONE,
      upcoming: [],
    })
    return c.redirect('/', 303)
  })
  return app
}

const FORM = html`
  <p class="soft">Prices of ${SUPPLIERS.length} suppliers, two at a time. One that does not answer is tried three times.</p>
  <form method="post" action="/imports"><button>Import now</button></form>`

function importItem({ createdAt, output, status }: Run, children: readonly Run[]): Html {
  const report = output as Report | undefined
  const result = report ? `${report.prices} prices, ${report.changed} of them changed` : status.toLowerCase()
  return html`
    <li>
      <b>${inTown(createdAt)}</b> ${result}
      ${report?.problems.map((problem) => html`<br />missing: ${problem}`)}
      <br /><small>${children.map(childText).join(' · ')}</small>
    </li>`
}

function childText({ payload, status, attemptCount }: Run): string {
  const { supplier } = payload as SupplierImport
  return `${supplier} ${status.toLowerCase()}${attemptCount > 1 ? `, attempt ${attemptCount}` : ''}`
}

function inTown(instant: Date): string {
  return instant.toLocaleString('en-GB', { timeZone: TIME_ZONE })
}
