import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { benchOutput } from './bench-output.ts';

const { out, bench, latest, close } = benchOutput();
afterAll(close);

test('the scenarios that run apart run when they are named', async () => {
  const named = ['overload', 'big-board', 'workers', 'tail-credit-session', 'signed-status', 'purchases'];
  const { code, stdout } = await bench([...named, '--quick']);
  expect(stdout).not.toMatch(/! failed|! audit/);
  expect(code).toBe(0);
  const { scenarios } = latest();
  const names = ['overload', 'big-board', 'workers-credit', 'workers-rooms', 'tail-credit-session', 'signed-status', 'purchases'];
  expect(scenarios.map(({ name }) => name)).toEqual(names);
  const [overload, boards, , rooms, tail, signed, purchases] = scenarios;
  for (const { at, figures } of overload!.sides) {
    expect(figures.offered!.median).toBeCloseTo(at! * overload!.sides[1]!.figures.offered!.median, 5);
    expect(figures.goodput!.median).toBeGreaterThan(0);
  }
  expect(overload!.sides.at(-1)!.figures.refused!.median).toBeGreaterThan(0);
  expect(overload!.sides.at(-1)!.figures.refusalCpu!.median).toBeGreaterThan(0);
  expect(
    boards!.sides.map(({ figures: { rankCpu, topCpu, p99 } }) => [rankCpu, topCpu, p99].every((figure) => figure!.median > 0)),
  ).toEqual([true, true, true]);
  expect(rooms!.sides.every(({ figures: { p50 } }) => p50!.median > 0)).toBe(true);
  expect(tail!.sides.map(({ id }) => id)).toEqual(['coinop', 'uws-redis', 'coinop-everysec', 'uws-redis-everysec']);
  expect(tail!.sides.every(({ figures: { p999 } }) => p999!.median > 0)).toBe(true);
  expect(signed!.sides[0]!.figures.serverCpu!.median).toBeGreaterThan(0);
  expect(purchases!.sides[0]!.figures.p99!.median).toBeGreaterThan(0);
  expect(readdirSync(out)).toContain('overload.svg');
}, 240_000);
