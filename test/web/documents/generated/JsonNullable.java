// Stands in for jackson-databind-nullable, which no registry that this proof may ask has: a value that is there, null or not, or is not.
package org.openapitools.jackson.nullable;

import java.util.NoSuchElementException;

public final class JsonNullable<T> {
  private static final JsonNullable<?> UNDEFINED = new JsonNullable<>(null, false);
  private final T value;
  private final boolean isPresent;

  private JsonNullable(T value, boolean isPresent) {
    this.value = value;
    this.isPresent = isPresent;
  }

  @SuppressWarnings("unchecked")
  public static <T> JsonNullable<T> undefined() {
    return (JsonNullable<T>) UNDEFINED;
  }

  public static <T> JsonNullable<T> of(T value) {
    return new JsonNullable<>(value, true);
  }

  public T get() {
    if (!isPresent) throw new NoSuchElementException();
    return value;
  }

  public T orElse(T other) {
    return isPresent ? value : other;
  }

  public boolean isPresent() {
    return isPresent;
  }
}
