import type { ExplorationTools } from 'waitpoint/testing'
import { shop } from './shop.ts'
import type { Planted } from './planted.ts'

/** Completes the token, and ships only if it was this that settled it. */
async function approve(t: ExplorationTools, tokenId: string, ship: () => void): Promise<void> {
  const { success } = await t.engine.wait.completeToken(tokenId, 'approved')
  if (success) await t.step('ship', ship)
}

export const checkThenAct: Planted = {
  body: shop(approve),
  options: {},
  breaks: 'the body holds',
}
