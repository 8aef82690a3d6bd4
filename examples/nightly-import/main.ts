import { createEngine } from 'waitpoint'
import { placeOf, run } from '../host.ts'
import { importTasks } from './import.ts'
import { importPages } from './pages.ts'
import { PriceList } from './price-list.ts'
import { fetchPrices } from './suppliers.ts'

const tasks = importTasks(fetchPrices, new PriceList())
const engine = createEngine({
  tasks: [tasks.nightlyImport, tasks.importSupplier],
  ...placeOf('nightly-import'),
})

await run(engine, importPages(engine, tasks))
