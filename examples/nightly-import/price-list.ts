import type { Price } from './suppliers.ts'

/** Stands for the database of the shop. To save a list a second time changes nothing, as an import may be repeated. */
export class PriceList {
  readonly #cents = new Map<string, number>()

  /** Answers how many prices are new or different. */
  save(prices: readonly Price[]): number {
    const changed = prices.filter(({ item, cents }) => this.#cents.get(item) !== cents)
    for (const { item, cents } of changed) this.#cents.set(item, cents)
    return changed.length
  }
}
