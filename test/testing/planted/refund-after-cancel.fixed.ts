import type { Planted } from './planted.ts'
import { canceledOrder } from './refund-after-cancel.ts'

/** The twin without the bug: the refund looks at the order itself, in one step. */
export const refundAfterCancel: Planted = {
  body: canceledOrder((t, done) =>
    t.step('refund', () => {
      if (!done.has('shipped')) done.add('refunded')
    }),
  ),
  options: {},
  breaks: 'the body holds',
}
