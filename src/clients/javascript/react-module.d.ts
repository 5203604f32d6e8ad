// The functions of React that react.ts calls. React is a dependency of the game, not of this project.
declare module 'react' {
  export function useMemo<Value>(make: () => Value, keys: readonly unknown[]): Value;
  export function useSyncExternalStore<Value>(
    subscribe: (listener: () => void) => () => void,
    value: () => Value,
    valueOnServer: () => Value,
  ): Value;
}
