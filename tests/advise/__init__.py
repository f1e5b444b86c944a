"""Tests of advice: folders with known differences in, outcomes out."""
