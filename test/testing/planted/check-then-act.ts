import type { ExplorationTools } from 'waitpoint/testing'
import { shop } from './shop.ts'
import type { Planted } from './planted.ts'

/** Looks whether the order still waits, ships it, and says so: the order may have been given up in between. */
async function approve(t: ExplorationTools, tokenId: string, ship: () => void): Promise<void> {
  const token = await t.engine.wait.retrieveToken(tokenId)
  if (token.status !== 'WAITING') return
  await t.step('ship', ship)
  await t.engine.wait.completeToken(tokenId, 'approved')
}

export const checkThenAct: Planted = {
  body: shop(approve),
  options: {},
  breaks: 'the body holds',
}
