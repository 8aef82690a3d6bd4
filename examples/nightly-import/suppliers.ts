export interface Price {
  readonly item: string
  readonly cents: number
}

/** Answers the price list of a supplier. */
export type FetchPrices = (
  supplier: string,
  options: { readonly signal: AbortSignal },
) => Promise<readonly Price[]>

const ITEMS = ['bolt', 'hinge', 'knob', 'latch', 'screw', 'spring']

/** Stands for the servers of the suppliers: slow, now and then out of order, and one of them is gone for good. */
export const fetchPrices: FetchPrices = async (supplier, { signal }) => {
  await sleep(400 + Math.random() * 1_600, signal)
  if (supplier === 'Kestrel') throw new Error('Kestrel answers 410 Gone')
  if (Math.random() < 0.3) throw new Error(`${supplier} answers 503 Service Unavailable`)
  return ITEMS.map((item) => ({ item: `${supplier} ${item}`, cents: 100 + Math.floor(Math.random() * 900) }))
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}
