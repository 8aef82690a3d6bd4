import { expect } from 'vitest'
import { taskTest } from 'waitpoint/vitest'
import { importTasks, SUPPLIERS } from './import.ts'
import { importPages } from './pages.ts'
import { PriceList } from './price-list.ts'
import type { FetchPrices } from './suppliers.ts'

/** Suppliers of one item each. Birch answers at the second try, and Kestrel never. */
function suppliers(): FetchPrices {
  const asked = new Set<string>()
  return async (supplier) => {
    const isFirst = !asked.has(supplier)
    asked.add(supplier)
    if (supplier === 'Kestrel' || (supplier === 'Birch' && isFirst)) throw new Error(`${supplier} is away`)
    return [{ item: `${supplier} bolt`, cents: 500 }]
  }
}

const tasks = importTasks(suppliers(), new PriceList())
const importTest = taskTest.with({
  tasks: [tasks.nightlyImport, tasks.importSupplier],
  clock: { start: Date.UTC(2030, 0, 1, 12) },
  alwaysResume: true,
})

importTest('runs each night at two, with a child for each supplier', async ({ t }) => {
  const app = importPages(t.engine, tasks)
  expect(await (await app.request('/')).text()).toContain('02/01/2030, 02:00:00')
  await t.clock.advance('2d')

  const { data: nights } = await t.engine.runs.list({ taskIdentifier: 'nightly-import' })
  const problems = ['Kestrel is away']
  expect(nights.map(({ createdAt, output }) => [createdAt.toISOString(), output])).toEqual([
    ['2030-01-03T01:00:00.000Z', { prices: 5, changed: 0, problems }],
    ['2030-01-02T01:00:00.000Z', { prices: 5, changed: 5, problems }],
  ])
  const children = t.calls(tasks.importSupplier)
  expect(children.filter(({ payload }) => payload.supplier === 'Kestrel')).toHaveLength(2 * 3)
  expect(children).toHaveLength(2 * (SUPPLIERS.length + 2) + 1)

  const page = await (await app.request('/')).text()
  expect(page).toContain('5 prices, 0 of them changed')
  expect(page).toContain('Kestrel failed, attempt 3')
})

importTest('runs when one asks for it', async ({ t }) => {
  const app = importPages(t.engine, tasks)
  expect((await app.request('/imports', { method: 'POST' })).status).toBe(303)
  const {
    data: [run],
  } = await t.engine.runs.list({ taskIdentifier: 'nightly-import' })
  expect((await t.engine.runs.poll(run!.id)).output).toMatchObject({ prices: 5 })
})
