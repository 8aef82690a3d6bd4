import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A client sends a delivery again when the response was lost, and it counts twice. The twin knows deliveries by their number. */
export const addedTwice: Twin = (isFixed) => {
  const body: Body = async (t) => {
    let stock = 0
    const seen = new Set<string>()
    const db = t.outside('stock', {
      add: (pieces: number) => Promise.resolve(void (stock += pieces)),
      addOnce: (delivery: string, pieces: number) => {
        if (!seen.has(delivery)) stock += pieces
        return Promise.resolve(void seen.add(delivery))
      },
    })
    const fetch = t.serve(() => async (request) => {
      const pieces = Number(await request.text())
      await (isFixed ? db.addOnce('delivery-1', pieces) : db.add(pieces))
      return new Response()
    })
    const send = (): Promise<boolean> =>
      fetch('/deliveries', { method: 'POST', body: '3' }).then(
        ({ ok }) => ok,
        () => false,
      )
    while (!(await send()));
    if (stock !== 3) throw new Error(`the stock is ${stock}`)
  }
  return { body, options: { faults: ['lost-response'] }, breaks: 'the body holds' }
}
