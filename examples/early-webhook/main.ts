import { createEngine } from 'waitpoint'
import { placeOf, run } from '../host.ts'
import { orderTask } from './order.ts'
import { shopPages } from './pages.ts'

const order = orderTask((item) => console.log(`${item} leaves the house`))
const engine = createEngine({ tasks: [order], ...placeOf('early-webhook') })
// The payment service gives you one.
const secret = process.env['WEBHOOK_SECRET'] ?? 'only for this example'

await run(engine, shopPages(engine, { order, secret }))
